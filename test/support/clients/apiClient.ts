import assert from 'node:assert/strict'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import type { Stack } from '../stack.ts'
import type { ErrorBody } from './chatClient.ts'

export type Json = Record<string, unknown>

/** An answer of the account API. */
export interface ApiAnswer<Body = Json> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Body
}

export interface ApiOptions {
  /** A session or an API key; '' sends none. */
  readonly token?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** Sends a request to the account API. @param path or a whole address, such as an answer names */
export async function api<Body = Json>(
  baseUrl: string,
  method: string,
  path: string,
  { token = '', body, headers = {} }: ApiOptions = {},
): Promise<ApiAnswer<Body>> {
  const response = await fetch(path.startsWith('http') ? path : `${baseUrl}${path}`, {
    method,
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== ''
  return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : {}) as Body }
}

/** As `api`, for a request that has to succeed; returns its body. */
export async function apiOk<Body = Json>(
  baseUrl: string,
  method: string,
  path: string,
  options: ApiOptions = {},
): Promise<Body> {
  const answer = await api<Body>(baseUrl, method, path, options)
  assert.ok(answer.status === 200 || answer.status === 201, `${method} ${path}: ${answer.status} ${answer.text}`)
  return answer.body
}

/** Asserts that an answer is this error. */
export function assertRefused(answer: ApiAnswer<unknown>, status: number, code: string | null, param?: string): void {
  const { error } = answer.body as ErrorBody
  assert.deepEqual([answer.status, error?.code], [status, code], answer.text)
  if (param !== undefined) assert.equal(error.param, param, answer.text)
  if (status === 429 || status === 503) assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]/)
}

export const newWallet = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey())

interface Nonce {
  readonly nonce: string
  readonly chain_id?: number
}

/** A signed message by which a wallet signs in at `site`, with a nonce that was asked for. */
export async function signedMessage(
  baseUrl: string,
  wallet: PrivateKeyAccount,
  changes: Partial<Parameters<typeof createSiweMessage>[0]> = {},
): Promise<{ message: string; signature: string }> {
  const { nonce, chain_id: chainId = 1 } = await apiOk<Nonce>(baseUrl, 'POST', '/v1/auth/nonce')
  const { host, origin } = new URL(baseUrl)
  const fields = { address: wallet.address, domain: host, uri: origin, version: '1' as const, chainId, nonce }
  const message = createSiweMessage({ ...fields, issuedAt: new Date(), ...changes })
  return { message, signature: await wallet.signMessage({ message }) }
}

/** Signs a wallet in. @returns the session's token */
export async function signIn(baseUrl: string, wallet: PrivateKeyAccount): Promise<string> {
  const body = await signedMessage(baseUrl, wallet)
  return (await apiOk<{ token: string }>(baseUrl, 'POST', '/v1/auth/verify', { body })).token
}

export interface Owner {
  readonly accountId: string
  readonly apiKey: string
  readonly wallet: PrivateKeyAccount
  readonly token: string
}

/** An account with a key, and a wallet that is signed in to it. */
export async function newOwner(stack: Stack, money: { credits?: string; coin?: string } = {}): Promise<Owner> {
  const wallet = newWallet()
  const account = await stack.createAccount({ ...money, args: ['--wallet', wallet.address] })
  return { ...account, wallet, token: await signIn(stack.baseUrl, wallet) }
}
