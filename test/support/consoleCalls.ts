import { lastDays } from '../../console/format/time.ts'

const usageOf = (by: string, days: string): string => `/v1/account/usage?from=${days}&to=DAY&group_by=${by}&limit=1000`

/**
 * The calls of each page of the menu when it is opened with a session: one for each table of figures. DAY is today, DAY-29 the
 * first of 30 days.
 */
export const PAGE_CALLS: Readonly<Record<string, readonly string[]>> = {
  Playground: [],
  Usage: [usageOf('day,model', 'DAY-29')],
  Requests: ['/v1/receipts?limit=25'],
  'Keys and caps': ['/v1/account/keys?limit=20'],
  Balance: ['/v1/account', '/v1/account/funding', '/v1/account/wallets', '/v1/account/deposits?limit=20'],
  'Agents and approvals': ['/v1/agents?limit=20'],
  'Batch jobs': [],
  Connect: ['/v1/models'],
  'Models and prices': ['/v1/pricing'],
  'Compute locks': ['/v1/locks'],
  Status: ['/v1/status', '/v1/status/history'],
  Reserve: ['/v1/reserve'],
  Checkpoints: ['/v1/log/checkpoints?limit=20'],
}

/** The calls of the usage page for a year, by what it groups. */
export const YEAR_CALLS: Readonly<Record<'Model' | 'Key' | 'Tag', string>> = {
  Model: usageOf('month,model', 'DAY-364'),
  Key: usageOf('month,key', 'DAY-364'),
  Tag: usageOf('month,tag', 'DAY-364'),
}

/** A call of these tables as it is made now. */
export function callNow(call: string): string {
  return call.replaceAll(/DAY(?:-(\d+))?/g, (_, back = '0') => lastDays(Number(back) + 1, Date.now()).from)
}
