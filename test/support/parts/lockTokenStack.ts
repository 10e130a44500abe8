import { type Address, parseAbi, zeroHash } from 'viem'
import { lockTokensInitCode } from '../../../control/chain/deploy/initCodes.ts'
import { provideContract } from '../../../control/launch/chain/deploy.ts'
import { numberOfId } from '../../../control/products/locks/tokens/lockTokensContract.ts'
import { type ApiAnswer, api, apiOk, type Json } from '../clients/apiClient.ts'
import { tokensOf } from '../clients/lockClient.ts'
import { type Holder, newHolder } from '../clients/moneyClient.ts'
import { type PaidStack, type PaidStackOptions, startPaidStack } from '../paidStack.ts'

const ABI = parseAbi([
  'function redeem(uint256 id, uint256 amount, bytes32 account)',
  'function balanceOf(address account, uint256 id) view returns (uint256)',
])
const WITHDRAWALS = '/v1/locks/withdrawals'
const MICROS_PER_TOKEN = 1_000_000

export interface LockWithdrawalAnswer extends Json {
  readonly id: string
  readonly status: string
}

/** A stack that takes payments, with a contract for tokens of compute locks. */
export class LockTokenStack {
  readonly paid: PaidStack
  readonly contract: Address

  private constructor(paid: PaidStack, contract: Address) {
    this.paid = paid
    this.contract = contract
  }

  /** @param more members of the payments file */
  static async start(options: PaidStackOptions = {}, more: Record<string, unknown> = {}): Promise<LockTokenStack> {
    let contract: Address | undefined
    const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, signInRequestBurst: 1_000 }
    const quick = { withdrawalCheckMs: 50, lockSeriesCheckMs: 100, grantSweepMs: 100, lockWithdrawalCutoffMs: 1 }
    const paid = await startPaidStack({
      ...options,
      limits: { ...rates, ...quick, ...options.limits },
      payments: async (chain) => {
        contract = await provideContract(chain.client, lockTokensInitCode(chain.treasury.address))
        return { lock_tokens: contract, ...more }
      },
    })
    if (contract === undefined) throw new Error('the contract was not deployed')
    return new LockTokenStack(paid, contract)
  }

  get url(): string {
    return this.paid.stack.baseUrl
  }

  /** An account with a wallet and coin that has bought tokens of a series at market. */
  async buyer(series: string, tokens: string): Promise<Holder> {
    const holder = await newHolder(this.paid, '100', { coin: 0n, stablecoin: 0n })
    const body = { series, side: 'buy', type: 'market', tokens }
    await apiOk(this.url, 'POST', '/v1/locks/orders', { token: holder.token, body })
    return holder
  }

  /** @param key the Idempotency-Key */
  withdraw({ token }: Holder, series: string, tokens: string, key?: string): Promise<ApiAnswer<LockWithdrawalAnswer>> {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    return api<LockWithdrawalAnswer>(this.url, 'POST', WITHDRAWALS, { token, body: { series, tokens }, headers })
  }

  withdrawTo(
    { token }: Holder,
    series: string,
    tokens: string,
    address: Address,
  ): Promise<ApiAnswer<LockWithdrawalAnswer>> {
    return api<LockWithdrawalAnswer>(this.url, 'POST', WITHDRAWALS, { token, body: { series, tokens, address } })
  }

  /** The withdrawals of an account, newest first. */
  async withdrawals({ token }: Holder): Promise<LockWithdrawalAnswer[]> {
    return (await apiOk<{ data: LockWithdrawalAnswer[] }>(this.url, 'GET', WITHDRAWALS, { token })).data
  }

  /** Sends a redemption, without waiting for its block. */
  redeem(holder: Holder, series: string, micros: bigint): Promise<`0x${string}`> {
    const args = [numberOfId(series), micros, zeroHash] as const
    const call = { abi: ABI, address: this.contract, functionName: 'redeem', args } as const
    return this.paid.chain.client.writeContract({ ...call, account: holder.wallet })
  }

  /** Micro-tokens of the account's wallet on the chain. */
  async onChain({ wallet }: Holder, series: string): Promise<number> {
    const args = [wallet.address, numberOfId(series)] as const
    const call = { abi: ABI, address: this.contract, functionName: 'balanceOf', args } as const
    return Number(await this.paid.chain.client.readContract(call))
  }

  /** Micro-tokens of the account's holding. */
  async held({ token }: Holder, series: string): Promise<number> {
    return Math.round(Number(await tokensOf(this.url, token, series)) * MICROS_PER_TOKEN)
  }
}
