import { readVariables } from '../../contract/schemas/environment.ts'
import { busKeysOf } from '../../contract/wire/busKeys.ts'
import type { ProductSettings } from '../api/product.ts'
import { NoteKey } from '../book/checkpoint/noteKey.ts'
import { WitnessKey } from '../book/checkpoint/witnessKey.ts'
import { CatalogKey } from '../catalog/signing/catalogKey.ts'
import { type ExportSettings, exportSettings } from '../records/export/exportSettings.ts'

const CATALOG = 'catalog.yaml'

/** Where control finds its parts. */
export interface Environment extends ProductSettings {
  readonly databaseUrl: string
  readonly redisUrl: string
  /** Signs the checkpoints of the usage logs; undefined where nothing is signed. */
  readonly logKey?: NoteKey | undefined
  /** Witnesses whose cosignatures of checkpoints are accepted. */
  readonly logWitnesses?: readonly WitnessKey[]
  readonly catalogPath: string
  /** The folder of archives, and how many months before the present one stay in the database; 0 for all. */
  readonly archive?: { readonly dir: string; readonly keptMonths: number }
  /** Where receipts are exported to after each hour, and in which form; undefined where they are not. */
  readonly export?: ExportSettings | undefined
  /** Zero takes any free port. */
  readonly metricsPort: number
  readonly metricsHost: string
  /** The bearer token of scrapes; empty for none. */
  readonly metricsToken: string
  /** Where clients reach the gateway; undefined when the operator has not said so. */
  readonly publicUrl: URL | undefined
  /** JSON-RPC of the chain that contract wallets are on; undefined for none. */
  readonly chainRpcUrl: string | undefined
  /** Webhooks may be sent to private addresses. */
  readonly allowPrivateWebhooks?: boolean
}

/**
 * Reads the environment variables of control.
 * @throws Error that names each invalid variable and its expected form
 */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const variables = readVariables(env, 'control')
  const { SLUICE_PUBLIC_URL: publicUrl, CHAIN_RPC_URL: chainRpcUrl } = variables
  return {
    databaseUrl: variables.DATABASE_URL,
    redisUrl: variables.REDIS_URL,
    busKeys: busKeysOf(variables.SLUICE_BUS_KEY),
    logKey: logKeyOf(variables.SLUICE_LOG_KEY),
    logWitnesses: witnessesOf(variables.SLUICE_LOG_WITNESSES),
    catalogKey: catalogKeyOf(variables.SLUICE_CATALOG_KEY),
    attestationSeconds: variables.SLUICE_ATTESTATION_SECONDS,
    catalogPath: variables.SLUICE_CATALOG ?? CATALOG,
    archive: { dir: variables.SLUICE_ARCHIVE, keptMonths: variables.SLUICE_RECEIPTS_MONTHS },
    export: exportSettings(variables),
    metricsPort: variables.SLUICE_CONTROL_METRICS_PORT,
    metricsHost: variables.SLUICE_METRICS_HOST,
    metricsToken: variables.SLUICE_METRICS_TOKEN ?? '',
    publicUrl: publicUrl === undefined ? undefined : new URL(publicUrl),
    chainRpcUrl: chainRpcUrl === undefined ? undefined : new URL(chainRpcUrl).href,
    allowPrivateProviders: variables.SLUICE_PRIVATE_PROVIDERS === '1',
    allowPrivateWebhooks: variables.SLUICE_WEBHOOKS_PRIVATE === '1',
  }
}

function logKeyOf(secret: string | undefined): NoteKey | undefined {
  try {
    return secret === undefined ? undefined : NoteKey.of(secret)
  } catch (error) {
    throw new Error(`SLUICE_LOG_KEY does not hold: ${(error as Error).message}`, { cause: error })
  }
}

function catalogKeyOf(secret: string | undefined): CatalogKey | undefined {
  try {
    return secret === undefined ? undefined : CatalogKey.of(secret)
  } catch (error) {
    throw new Error(`SLUICE_CATALOG_KEY does not hold: ${(error as Error).message}`, { cause: error })
  }
}

function witnessesOf(keys: string | undefined): WitnessKey[] {
  return (keys?.split(',') ?? []).map((key) => {
    try {
      return WitnessKey.of(key)
    } catch (error) {
      throw new Error(`SLUICE_LOG_WITNESSES does not hold: ${key}: ${(error as Error).message}`, { cause: error })
    }
  })
}

/** An address without its user and password, for logs and messages. */
export function addressForLog(url: string): string {
  // Not by `URL`, which supports only one host.
  const parts = /^([a-z][a-z+.-]*:\/\/)(?:[^/?#]*@)?([^?#]*)/i.exec(url)
  return parts === null ? 'an address that is not a URL' : `${parts[1]}${parts[2]}`
}
