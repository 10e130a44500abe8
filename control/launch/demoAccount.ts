import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { compiled } from './paths.ts'

const CREDITS_USD = '10'
const ACCEPTED_TIMEOUT_MS = 15_000
const POLL_MS = 100

export interface DemoAccount {
  readonly account_id: string
  readonly api_key: string
}

/**
 * The demo account of an earlier run if its key is still good, else a new one with credits.
 * @param demoFile the file that an earlier run wrote
 * @param baseUrl of the running proxy
 * @param env the environment of the operator's command line
 * @param allowRetention opts the key of a new account in to providers that keep data
 */
export async function provideDemoAccount(
  demoFile: string,
  baseUrl: string,
  env: NodeJS.ProcessEnv,
  allowRetention: boolean,
): Promise<DemoAccount> {
  const known = readDemoAccount(demoFile)
  if (known !== undefined && (await isAccepted(baseUrl, known.api_key))) return known
  const account = createAccount(env, allowRetention)
  const deadlineMs = Date.now() + ACCEPTED_TIMEOUT_MS
  while (!(await isAccepted(baseUrl, account.api_key))) {
    if (Date.now() > deadlineMs) throw new Error('the proxy does not accept the new demo key; see the logs')
    await sleep(POLL_MS)
  }
  return account
}

function readDemoAccount(demoFile: string): DemoAccount | undefined {
  if (!existsSync(demoFile)) return undefined
  try {
    return accountOf(JSON.parse(readFileSync(demoFile, 'utf8')))
  } catch {
    return undefined
  }
}

function accountOf(value: unknown): DemoAccount | undefined {
  if (typeof value !== 'object' || value === null || !('api_key' in value) || !('account_id' in value)) return undefined
  const { account_id, api_key } = value
  return typeof account_id === 'string' && typeof api_key === 'string' ? { account_id, api_key } : undefined
}

function createAccount(env: NodeJS.ProcessEnv, allowRetention: boolean): DemoAccount {
  const optIn = allowRetention ? ['--allow-retention'] : []
  const args = ['account', 'create', '--credits', CREDITS_USD, '--json', ...optIn]
  const done = spawnSync(process.execPath, [compiled('control/cli.js'), ...args], {
    encoding: 'utf8',
    env,
  })
  const account = done.status === 0 ? accountOf(JSON.parse(done.stdout)) : undefined
  if (account === undefined) throw new Error(`the demo account could not be made:\n${done.stderr}${done.stdout}`)
  return account
}

/** Whether the proxy accepts the key; retries while the proxy cannot decide. */
async function isAccepted(baseUrl: string, apiKey: string): Promise<boolean> {
  const deadlineMs = Date.now() + ACCEPTED_TIMEOUT_MS
  for (;;) {
    const response = await fetch(`${baseUrl}/v1/receipts?limit=1`, { headers: { authorization: `Bearer ${apiKey}` } })
    await response.arrayBuffer()
    if (response.status < 500) return response.ok
    if (Date.now() > deadlineMs) throw new Error(`the proxy answered ${response.status}; see the logs`)
    await sleep(POLL_MS)
  }
}
