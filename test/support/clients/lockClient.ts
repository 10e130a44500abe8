import assert from 'node:assert/strict'
import type { Stack } from '../stack.ts'
import { apiOk, type Json } from './apiClient.ts'

export interface OrderAnswer {
  readonly id: string
  readonly status: string
  readonly filled: string
  readonly cost: { readonly coin: string }
  readonly fee: { readonly coin: string }
  readonly in_escrow: { readonly coin: string; readonly tokens: string }
}

export interface OwnLocks {
  readonly holdings: readonly { series: string; tokens: string; units: string }[]
  readonly orders: { readonly data: readonly OrderAnswer[] }
  readonly uses: readonly Json[]
}

/** Issues a series of test/small as the operator does. @returns its id */
export async function issueLock(stack: Stack, args: readonly string[] = []): Promise<string> {
  const usual = { '--provider': 'mock', '--price': '0.15', '--supply': '1000', '--offer': '0.1' }
  const flags = Object.entries(usual).filter(([name]) => !args.includes(name))
  const issued = await stack.cli('lock', 'issue', 'test/small', ...flags.flat(), ...args)
  assert.equal(issued.code, 0, issued.stderr)
  return String((issued.json as Json)['id'])
}

/** What an account holds, has ordered and has used. */
export const ownLocks = (url: string, token: string): Promise<OwnLocks> =>
  apiOk(url, 'GET', '/v1/locks/mine', { token })

/** Whole tokens of a series that an account holds, as a decimal. */
export async function tokensOf(url: string, token: string, series: string): Promise<string> {
  return (await ownLocks(url, token)).holdings.find((one) => one.series === series)?.tokens ?? '0.000000'
}
