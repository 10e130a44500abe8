import { randomBytes } from 'node:crypto'
import type { Hex } from 'viem'
import { EIP3009_TYPES } from '../../../contract/payments/typedData.ts'
import type { Payer, PayerFunds } from '../chain.ts'
import type { PaidStack } from '../paidStack.ts'
import { until } from '../stack.ts'
import { api, apiOk, type Json, signIn } from './apiClient.ts'

/** An account whose wallet has tokens on the chain. */
export interface Holder {
  readonly accountId: string
  readonly apiKey: string
  readonly wallet: Payer
  readonly token: string
}

export interface Movement extends Json {
  readonly id: string
  readonly status: string
  readonly token_amount: string
  readonly amount: { units: string; usd: string; coin: string }
  readonly transaction: string | null
}

/** A new account with a linked wallet that is signed in. @param coin what of it the account has */
export async function newHolder(paid: PaidStack, coin = '0', funds: PayerFunds = {}): Promise<Holder> {
  const wallet = await paid.chain.newPayer(funds)
  const money = coin === '0' ? { credits: '0.01' } : { coin }
  const account = await paid.stack.createAccount({ ...money, args: ['--wallet', wallet.address] })
  return { ...account, wallet, token: await signIn(paid.stack.baseUrl, wallet) }
}

export interface Authorization {
  readonly from: string
  readonly to: string
  readonly value: string
  readonly validAfter: string
  readonly validBefore: string
  readonly nonce: string
}

export interface SignedDeposit {
  readonly authorization: Authorization
  readonly signature: Hex
}

/** What a wallet signs for a deposit of the stablecoin. @param signer whose key signs; that of `from` when absent */
export async function signDeposit(
  paid: PaidStack,
  wallet: Payer,
  value: bigint,
  changes: Partial<Authorization> = {},
  signer: Payer = wallet,
): Promise<SignedDeposit> {
  const authorization = {
    from: wallet.address,
    to: paid.chain.treasury.address,
    value: value.toString(),
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1_000) + 3_600),
    nonce: `0x${randomBytes(32).toString('hex')}`,
    ...changes,
  }
  const { chainId, contracts } = paid.chain
  const signature = await signer.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId, verifyingContract: contracts.stablecoin },
    types: EIP3009_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: authorization.from as Hex,
      to: authorization.to as Hex,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce as Hex,
    },
  })
  return { authorization, signature }
}

export const deposit = (paid: PaidStack, holder: Pick<Holder, 'token'>, body: unknown, headers = {}) =>
  api<Movement>(paid.stack.baseUrl, 'POST', '/v1/account/deposits', { token: holder.token, body, headers })

export const withdraw = (paid: PaidStack, holder: Pick<Holder, 'token'>, body: unknown, headers = {}) =>
  api<Movement>(paid.stack.baseUrl, 'POST', '/v1/account/withdrawals', { token: holder.token, body, headers })

export const depositStatus = async (paid: PaidStack, { token }: Holder, id: string): Promise<string> =>
  (await apiOk<Movement>(paid.stack.baseUrl, 'GET', `/v1/account/deposits/${id}`, { token })).status

export const untilCredited = (paid: PaidStack, holder: Holder, id: string): Promise<void> =>
  until('the deposit is credited', async () => (await depositStatus(paid, holder, id)) === 'credited')

export const listOf = async (
  paid: PaidStack,
  holder: Holder,
  what: 'deposits' | 'withdrawals',
): Promise<Movement[]> => {
  const path = `/v1/account/${what}`
  return (await apiOk<{ data: Movement[] }>(paid.stack.baseUrl, 'GET', path, { token: holder.token })).data
}

/** Units of coin of an account: in the book, and free to be held by requests. */
export async function coinOf(paid: PaidStack, holder: Holder): Promise<[book: number, free: number]> {
  const read = { token: holder.token }
  const account = await apiOk<{ balance: { coin: string }; available: { coin: string } }>(
    paid.stack.baseUrl,
    'GET',
    '/v1/account',
    read,
  )
  return [Number(account.balance.coin), Number(account.available.coin)]
}
