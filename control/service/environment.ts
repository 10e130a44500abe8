import { readBusKey } from '../../contract/wire/callSeal.ts'
import type { PaymentsConfig } from '../onchain/payments/paymentsConfig.ts'

/** Where control finds its parts. */
export interface Environment {
  readonly databaseUrl: string
  readonly redisUrl: string
  /** Shared with the proxies: seals what is sent between them. */
  readonly busKey: Buffer
  readonly catalogPath: string
  /** Zero takes any free port. */
  readonly metricsPort: number
  /** Where clients reach the gateway; undefined when the operator has not said so. */
  readonly publicUrl: URL | undefined
  /** JSON-RPC of the chain that contract wallets are on; undefined for none. */
  readonly chainRpcUrl: string | undefined
  /** Whether customers may register endpoints with private addresses and without TLS. */
  readonly allowPrivateProviders: boolean
  /** Webhooks may go to private addresses. */
  readonly allowPrivateWebhooks?: boolean
  /** How payments are taken; undefined for none. */
  readonly payments?: PaymentsConfig | undefined
}

/**
 * Reads the environment variables of control.
 * @throws Error that names the variable and what it should be
 */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  return {
    databaseUrl: required(env, 'DATABASE_URL', 'postgres://user:password@127.0.0.1:5432/sluice'),
    redisUrl: required(env, 'REDIS_URL', 'redis://127.0.0.1:6379'),
    busKey: readBusKey(env),
    catalogPath: env['SLUICE_CATALOG'] || 'catalog.yaml',
    metricsPort: portOf(env['SLUICE_CONTROL_METRICS_PORT'] ?? '0'),
    publicUrl: webAddress(env, 'SLUICE_PUBLIC_URL', 'https://gateway.example.com'),
    chainRpcUrl: webAddress(env, 'CHAIN_RPC_URL', 'https://rpc.example.com')?.href,
    allowPrivateProviders: isOn(env, 'SLUICE_PRIVATE_PROVIDERS'),
    allowPrivateWebhooks: isOn(env, 'SLUICE_WEBHOOKS_PRIVATE'),
  }
}

function required(env: NodeJS.ProcessEnv, name: string, example: string): string {
  const value = env[name]
  if (value) return value
  throw new Error(`${name} is not set; set it, for example, to ${example}. \`make run\` sets everything by itself`)
}

function webAddress(env: NodeJS.ProcessEnv, name: string, example: string): URL | undefined {
  const text = env[name]
  if (text === undefined || text === '') return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new Error(`${name} must be an http:// or https:// address such as ${example}, not ${addressForLog(text)}`)
}

/** Whether a switch is on. @throws Error unless it is 1, 0 or not set */
export function isOn(env: NodeJS.ProcessEnv, name: string): boolean {
  const value = env[name] ?? ''
  if (value === '' || value === '0' || value === '1') return value === '1'
  throw new Error(`${name} must be 1 or 0, not ${value}`)
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new Error(`SLUICE_CONTROL_METRICS_PORT must be a port from 0 to 65535, not ${text}`)
}

/** An address without its user and password, for logs and messages. */
export function addressForLog(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol}//${host}${pathname}`
  } catch {
    return 'an address that is not a URL'
  }
}
