import type { Address, Hex } from 'viem'
import { parseSiweMessage } from 'viem/siwe'
import { hashMessage, isAddressEqual, recoverMessageAddress } from 'viem/utils'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { clientNetwork } from '../../../contract/net/ipAddress.ts'
import { RateLimiter, refuseAfter } from '../../../contract/std/rateLimiter.ts'
import { FairTurns } from '../../api/fairTurns.ts'
import type { ContractWallets } from '../../chain/contractSignature.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'
import { Nonces, useNonce } from './nonces.ts'
import { isOwnOrigin } from './ownOrigin.ts'

const CLOCK_SLACK_MS = 60_000

/** A wallet that has proven itself. The proof counts once: call `use` in the transaction of the change that it authorizes. */
export interface WalletProof {
  /** Lower case. */
  readonly address: Address
  /** @throws GatewayError invalid_request when the proof was used before */
  use(client: Queryable): Promise<void>
}

export interface WalletProofOptions {
  readonly db: Queryable
  /** Where clients reach the gateway; undefined accepts the loopback names only. */
  readonly publicUrl: URL | undefined
  /** Undefined where no chain is configured: then only wallets with their own key can sign in. */
  readonly contracts: ContractWallets | undefined
  /** The chain that messages have to name; undefined where none is configured. @throws GatewayError chain_unavailable */
  readonly chainId: (() => Promise<number>) | undefined
  readonly limits: IdentityLimits
}

type Fields = ReturnType<typeof parseSiweMessage>

/** Checks messages by which wallets sign in (EIP-4361, https://eips.ethereum.org/EIPS/eip-4361). */
export class WalletProofs {
  readonly nonces: Nonces
  private readonly options: WalletProofOptions
  /** Checking a signature costs milliseconds of CPU, and needs no credential. */
  private readonly turns: FairTurns
  /** By network and wallet, so that strangers keep no wallet from signing in elsewhere. */
  private readonly failures: RateLimiter

  constructor(options: WalletProofOptions) {
    this.options = options
    this.nonces = new Nonces(options.db, options.limits)
    this.turns = new FairTurns({
      cpuPercent: options.limits.signatureCpuPercent,
      waitingMax: options.limits.signaturesWaitingMax,
      overloadMs: options.limits.signatureOverloadMs,
      namesMax: options.limits.rateLimiterEntriesMax,
    })
    const perMinute = options.limits.signatureFailuresPerMinute
    this.failures = new RateLimiter({ perMinute, burst: perMinute }, options.limits.rateLimiterEntriesMax)
  }

  /**
   * Checks a message and its signature.
   * @param clientAddress of the sender
   * @throws GatewayError invalid_request for a message that is not for here and now, bad_signature, chain_unavailable,
   *   rate_limited
   */
  async check(message: string, signature: Hex, clientAddress = ''): Promise<WalletProof> {
    const fields = parseSiweMessage(message)
    const { address, nonce } = fields
    if (address === undefined || nonce === undefined) throw refuse('must have the format of EIP-4361')
    this.checkPlace(fields)
    const nowMs = Date.now()
    checkTimes(fields, nowMs, this.options.limits)
    const expiresAtMs = await this.nonces.expiryOf(nonce, nowMs)
    if (expiresAtMs === undefined) throw refuse('has a Nonce that is not in force; get one by POST /v1/auth/nonce')
    await this.checkChain(fields)
    const network = clientNetwork(clientAddress)
    const failures = `${network} ${address.toLowerCase()}`
    refuseAfter(this.failures.waitMs(failures, nowMs))
    if (!(await this.isSignedByKey(network, address, message, signature))) {
      await this.checkContract(address, message, signature).catch((error: unknown) => {
        if (error instanceof GatewayError && error.code === 'bad_signature') this.failures.take(failures, Date.now())
        throw error
      })
    }
    return {
      address: address.toLowerCase() as Address,
      use: async (client) => {
        if (!(await useNonce(client, nonce, expiresAtMs))) throw refuse('has a Nonce that was used; get another one')
      },
    }
  }

  private checkPlace({ version, domain, uri }: Fields): void {
    if (version !== '1') throw refuse('must have Version: 1')
    const { publicUrl } = this.options
    if (isOwnOrigin(publicUrl, domain ?? '', uri ?? '')) return
    throw refuse(`must be for the domain and URI of this gateway (${publicUrl?.origin ?? 'localhost or 127.0.0.1'})`)
  }

  /** The chain that messages have to name; undefined if none is configured or it is unknown now. */
  async chainId(): Promise<number | undefined> {
    return this.options.chainId?.().catch(() => undefined)
  }

  private async checkChain({ chainId }: Fields): Promise<void> {
    const configured = await this.options.chainId?.()
    if (configured === undefined || chainId === configured) return
    throw refuse(`must have Chain ID: ${configured}, the chain of this gateway`)
  }

  /** @throws GatewayError rate_limited when the queue is too long */
  private async isSignedByKey(network: string, address: Address, message: string, signature: Hex): Promise<boolean> {
    const isSigned = await this.turns.run(network, async () => {
      const signer = await recoverMessageAddress({ message, signature }).catch(() => undefined)
      return signer !== undefined && isAddressEqual(signer, address)
    })
    if (isSigned === undefined) throw new GatewayError('rate_limited', { retryAfterSeconds: 1 })
    return isSigned
  }

  /** @throws GatewayError bad_signature, chain_unavailable */
  private async checkContract(address: Address, message: string, signature: Hex): Promise<void> {
    const { contracts } = this.options
    if (contracts === undefined) {
      const text =
        'The signature is not by the key of this address. Wallets that are contracts (ERC-1271) cannot sign in: the operator has configured no chain.'
      throw new GatewayError('bad_signature', { message: text, param: 'signature' })
    }
    if (await contracts.hasSigned(address, hashMessage(message), signature)) return
    const text = 'The signature is neither by the key of this address nor by a contract there.'
    throw new GatewayError('bad_signature', { message: text, param: 'signature' })
  }
}

/** Dates that are given but cannot be read are not in force. */
function checkTimes({ issuedAt, expirationTime, notBefore }: Fields, nowMs: number, limits: IdentityLimits): void {
  const issuedMs = issuedAt?.getTime() ?? Number.NaN
  const isFresh = Math.abs(nowMs - issuedMs) <= limits.nonceLifetimeMs + CLOCK_SLACK_MS
  if (!isFresh || issuedMs > nowMs + CLOCK_SLACK_MS) throw refuse('must have been issued now (Issued At)')
  if (expirationTime !== undefined && !(expirationTime.getTime() > nowMs)) throw refuse('has expired')
  if (notBefore !== undefined && !(notBefore.getTime() <= nowMs + CLOCK_SLACK_MS)) throw refuse('is not valid yet')
}

function refuse(what: string): GatewayError {
  return invalidRequest(`message ${what}.`, 'message')
}
