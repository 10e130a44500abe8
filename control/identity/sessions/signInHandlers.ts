import type { Hex } from 'viem'
import { getAddress } from 'viem/utils'
import { preparedWrite, type ReadHandler, type WriteHandler } from '../../api/call.ts'
import type { IdentityLimits } from '../limits.ts'
import { beginSession, endSession } from './sessions.ts'
import type { WalletProof, WalletProofs } from './walletProof.ts'

type SignInOperation = 'create_nonce' | 'sign_in' | 'sign_out'

/** The endpoints of signing in and out. @param publicUrl where clients reach the gateway, when the operator has said so */
export function signInHandlers(
  proofs: WalletProofs,
  publicUrl: URL | undefined,
  limits: IdentityLimits,
): Record<SignInOperation, ReadHandler | WriteHandler<unknown>> {
  return {
    create_nonce: {
      read: async () => {
        const { nonce, expiresAtMs } = await proofs.nonces.make(Date.now())
        const place = publicUrl === undefined ? {} : { domain: publicUrl.host, uri: publicUrl.origin }
        const chainId = await proofs.chainId()
        const chain = chainId === undefined ? {} : { chain_id: chainId }
        return { json: { object: 'nonce', nonce, ...place, ...chain, expires_at: new Date(expiresAtMs).toISOString() } }
      },
    },
    sign_in: preparedWrite<WalletProof>({
      prepare: ({ body, actor }) =>
        proofs.check(String(body['message']), body['signature'] as Hex, actor.clientAddress),
      write: async (call, client, proof) => {
        await proof.use(client)
        const { session, secret } = await beginSession(
          client,
          { ...call.actor, id: proof.address },
          proof.address,
          limits,
        )
        return {
          json: {
            object: 'session',
            id: session.id,
            token: secret,
            address: getAddress(session.address),
            account_id: session.accountId || null,
            created_at: new Date(session.createdAtMs).toISOString(),
            expires_at: new Date(session.expiresAtMs).toISOString(),
          },
        }
      },
    }),
    sign_out: {
      write: async (call, client) => {
        const id = call.caller.kind === 'session' ? call.caller.sessionId : ''
        await endSession(client, call.actor, id)
        return { json: { object: 'session', id, deleted: true } }
      },
    },
  }
}
