import type { Hex } from 'viem'
import { getAddress } from 'viem/utils'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { preparedWrite, type ReadHandler, type WriteHandler } from '../../api/call.ts'
import { listJson } from '../../api/lists.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'
import type { WalletProof, WalletProofs } from '../sessions/walletProof.ts'
import { takeLinkCode } from './linkCodes.ts'
import { linkWallet, listWallets, unlinkWallet } from './wallets.ts'

type WalletOperation = 'link_sign_in' | 'list_wallets' | 'link_wallet' | 'unlink_wallet'

/** The endpoints of an account's wallets. */
export function walletHandlers(
  pool: Pool,
  proofs: WalletProofs,
  limits: IdentityLimits,
): Record<WalletOperation, ReadHandler | WriteHandler<unknown>> {
  return {
    link_sign_in: {
      write: async (call, client) => {
        const address = call.caller.kind === 'session' ? call.caller.address : ''
        const accountId = await takeLinkCode(client, String(call.body['code']))
        if (accountId === undefined) {
          throw invalidRequest('code must be a one-time code that is in force; ask the operator for a new one.', 'code')
        }
        await linkWallet(client, call.actor, accountId, address, limits)
        return { json: { ...walletJson(address), account_id: accountId } }
      },
    },
    list_wallets: {
      read: async (call) => {
        const wallets = await listWallets(pool, call.accountId)
        const data = wallets.map(({ address, linkedAtMs }) => ({
          ...walletJson(address),
          linked_at: new Date(linkedAtMs).toISOString(),
        }))
        return { json: listJson(data, limits.walletsPerAccountMax) }
      },
    },
    link_wallet: preparedWrite<WalletProof>({
      prepare: ({ body, actor }) =>
        proofs.check(String(body['message']), body['signature'] as Hex, actor.clientAddress),
      write: async (call, client, proof) => {
        await proof.use(client)
        await linkWallet(client, call.actor, call.accountId, proof.address, limits)
        return { status: 201, json: walletJson(proof.address) }
      },
    }),
    unlink_wallet: {
      write: async (call, client) => {
        const address = String(call.params['address']).toLowerCase()
        if (!/^0x[0-9a-f]{40}$/.test(address)) throw new GatewayError('invalid_address', { param: 'address' })
        await unlinkWallet(client, call.actor, call.accountId, address, true)
        return { json: { ...walletJson(address), deleted: true } }
      },
    },
  }
}

const walletJson = (address: string) => ({ object: 'wallet' as const, address: getAddress(address) })
