import { DIALECT } from '../../../contract/catalog/dialects.ts'
import { variableNames } from '../../../contract/schemas/environment.ts'
import type { CatalogProvider } from '../../catalog/pricing/catalogFile.ts'
import type { CatalogTool } from '../../catalog/pricing/toolReader.ts'

/** Variables of the system that any program may need. */
const SYSTEM = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LD_LIBRARY_PATH']
/** Further variables that a program on Node.js may need. */
const NODE = ['NODE_ENV', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'UV_THREADPOOL_SIZE']

/** The part of a catalog that names the variables with the keys of providers and tools. */
export interface KeyNames {
  readonly providers: readonly Pick<CatalogProvider, 'dialect' | 'keys'>[]
  readonly tools: readonly Pick<CatalogTool, 'apiKeyEnv'>[]
}

function keyVariables({ keys }: Pick<CatalogProvider, 'keys'>): string[] {
  return keys.map(({ env }) => env)
}

function pick(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  const set = names.filter((name) => name !== '' && env[name] !== undefined)
  return Object.fromEntries(set.map((name) => [name, env[name]]))
}

/**
 * The environment of a server that is not part of the gateway (PostgreSQL, Redis, the development chain, the mock
 * provider): nothing that could be a secret.
 */
export function serverEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return pick(env, SYSTEM)
}

/** The environment of the operator's command line. */
export function commandEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return pick(env, [...SYSTEM, ...NODE, 'DATABASE_URL', 'REDIS_URL', 'SLUICE_DATA', 'SLUICE_LIMITS'])
}

/** The environment of the proxy: its own settings and the keys of the catalog's providers and tools. */
export function proxyEnvironment(env: NodeJS.ProcessEnv, { providers, tools }: KeyNames): NodeJS.ProcessEnv {
  const keys = [...providers.flatMap(keyVariables), ...tools.map(({ apiKeyEnv }) => apiKeyEnv)]
  return pick(env, [...SYSTEM, ...NODE, ...variableNames('proxy'), ...keys])
}

/** The environment of control: its own settings and the keys of the providers that run batch jobs. */
export function controlEnvironment(env: NodeJS.ProcessEnv, { providers }: KeyNames): NodeJS.ProcessEnv {
  const keys = providers.filter(({ dialect }) => DIALECT[dialect].batches).flatMap(keyVariables)
  return pick(env, [...SYSTEM, ...NODE, ...variableNames('control'), ...keys])
}
