import { nearest } from './nearest.ts'
import { compileSchema, readSchema, type Schema, type SchemaCheck } from './schemaFaults.ts'
import { fileVariable, secretValue } from './secretFiles.ts'

/** The programs that read the environment. `make run` reads the variables of all of them, and passes them on. */
export type Program = 'proxy' | 'control' | 'command line' | 'make run'

/** The samplers that OTEL_TRACES_SAMPLER names. */
export type TracesSampler =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio'

/** The variables that environment.schema.json describes; an unset one has its default, if there is one. */
export interface Variables {
  readonly DATABASE_URL?: string
  readonly REDIS_URL?: string
  readonly SLUICE_BUS_KEY?: string
  readonly SLUICE_LOG_KEY?: string
  readonly SLUICE_LOG_WITNESSES?: string
  readonly SLUICE_CATALOG_KEY?: string
  readonly SLUICE_CATALOG_NEXT_KEY?: string
  readonly SLUICE_ATTESTATION_SECONDS: number
  readonly SLUICE_ARCHIVE: string
  readonly SLUICE_RECEIPTS_MONTHS: number
  readonly SLUICE_EXPORT?: string
  readonly SLUICE_EXPORT_FORM: 'csv' | 'jsonl'
  readonly SLUICE_EXPORT_S3_ENDPOINT?: string
  readonly AWS_REGION: string
  readonly AWS_ACCESS_KEY_ID?: string
  readonly AWS_SECRET_ACCESS_KEY?: string
  readonly AWS_SESSION_TOKEN?: string
  readonly SLUICE_CATALOG?: string
  readonly HOST: string
  readonly PORT: number
  readonly SLUICE_WORKERS: number
  readonly SLUICE_TRANSPORT: 'sockets' | 'undici'
  readonly HTTPS_PROXY?: string
  readonly https_proxy?: string
  readonly HTTP_PROXY?: string
  readonly http_proxy?: string
  readonly NO_PROXY?: string
  readonly no_proxy?: string
  readonly SLUICE_PUBLIC_URL?: string
  readonly CHAIN_RPC_URL?: string
  readonly SLUICE_PAYMENTS?: string
  readonly SLUICE_TREASURY_KEY?: string
  readonly SLUICE_RELAYER_KEYS?: string
  readonly SLUICE_DEPLOYER_KEY?: string
  readonly SLUICE_WEBHOOKS_PRIVATE?: '1' | '0'
  readonly SLUICE_PRIVATE_PROVIDERS?: '1' | '0'
  readonly SLUICE_TRUSTED_PROXIES: number
  readonly SLUICE_DATA: string
  readonly SLUICE_JOURNAL_MEMORY: string
  readonly SLUICE_JOURNAL_SYNC?: '1' | '0'
  readonly SLUICE_METRICS_HOST: string
  readonly SLUICE_METRICS_TOKEN?: string
  readonly SLUICE_METRICS_PORT: number
  readonly SLUICE_CONTROL_METRICS_PORT: number
  readonly SLUICE_ACCESS_LOG?: string
  readonly SLUICE_ACCESS_LOG_ADDRESSES?: '1' | '0'
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string
  readonly OTEL_EXPORTER_OTLP_HEADERS?: string
  readonly OTEL_EXPORTER_OTLP_TRACES_HEADERS?: string
  readonly OTEL_EXPORTER_OTLP_PROTOCOL?: string
  readonly OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?: string
  readonly OTEL_EXPORTER_OTLP_COMPRESSION?: 'gzip' | 'none'
  readonly OTEL_EXPORTER_OTLP_TRACES_COMPRESSION?: 'gzip' | 'none'
  readonly OTEL_EXPORTER_OTLP_CERTIFICATE?: string
  readonly OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE?: string
  readonly OTEL_EXPORTER_OTLP_TIMEOUT?: number
  readonly OTEL_EXPORTER_OTLP_TRACES_TIMEOUT?: number
  readonly OTEL_SERVICE_NAME?: string
  readonly OTEL_RESOURCE_ATTRIBUTES?: string
  readonly OTEL_TRACES_EXPORTER?: 'otlp' | 'none'
  readonly OTEL_TRACES_SAMPLER: TracesSampler
  readonly OTEL_TRACES_SAMPLER_ARG: string
  readonly OTEL_SDK_DISABLED?: string
  readonly OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' | 'false'
  readonly OTEL_BSP_MAX_QUEUE_SIZE: number
  readonly OTEL_BSP_MAX_EXPORT_BATCH_SIZE: number
  readonly OTEL_BSP_SCHEDULE_DELAY: number
  readonly LOG_LEVEL: string
  readonly SLUICE_BENCH_UNMETERED?: '1'
  readonly SLUICE_KEY?: string
}

/** The variables that each program requires at startup; `requiredBy` of the schema. */
interface RequiredBy {
  readonly proxy: 'SLUICE_BUS_KEY'
  readonly control: 'DATABASE_URL' | 'REDIS_URL' | 'SLUICE_BUS_KEY'
  readonly 'command line': never
  readonly 'make run': never
}

/** The variables as a program has them. */
export type VariablesOf<P extends Program> = Variables & Required<Pick<Variables, RequiredBy[P]>>

/** An entry of `properties`. */
interface VariableSchema {
  readonly $ref?: string
  readonly type?: string
  readonly readBy: readonly Program[]
  readonly requiredBy?: readonly Program[]
  readonly writeOnly?: boolean
  readonly errorMessage?: string
}

const schema = readSchema('environment')
const variables = new Map(Object.entries(schema['properties'] as Record<string, VariableSchema>))
const INTEGER = /^[0-9]{1,9}$/
const PREFIX = 'SLUICE_'

/** The names of the variables that a program reads. */
export function variableNames(program: Program): string[] {
  const read = [...variables].filter(([, { readBy }]) => readBy.length > 0)
  return read.filter(([, { readBy }]) => program === 'make run' || readBy.includes(program)).map(([name]) => name)
}

/** The names of those that have secrets, which may be in files. */
export function secretNames(program: Program): string[] {
  return variableNames(program).filter(isSecret)
}

function isSecret(name: string): boolean {
  return variables.get(name)?.writeOnly === true
}

/**
 * Reads the environment as every program of the gateway does: an empty variable counts as not set, and a secret one may be
 * in a file. Variables that the program does not read keep their defaults.
 * @throws Error with a line for each invalid variable; it never repeats a secret
 */
export function readVariables<P extends Program>(env: NodeJS.ProcessEnv, program: P): VariablesOf<P> {
  const values: Record<string, string | number> = {}
  for (const name of variableNames(program)) {
    const text = isSecret(name) ? secretValue(name, env) : env[name]
    if (text !== undefined && text !== '') values[name] = isInteger(name) && INTEGER.test(text) ? Number(text) : text
  }
  const faults = checkFor(program)(values)
  if (faults.length === 0) return values as unknown as VariablesOf<P>
  throw new Error(faults.map(({ path: [name = ''], text }) => faultText(name, text, values[name])).join('\n'))
}

const checks = new Map<Program, SchemaCheck>()

function checkFor(program: Program): SchemaCheck {
  const known = checks.get(program)
  if (known !== undefined) return known
  const required = [...variables].filter(([, { requiredBy }]) => requiredBy?.includes(program)).map(([name]) => name)
  const check = compileSchema({ ...schema, required })
  checks.set(program, check)
  return check
}

function faultText(name: string, text: string, value: string | number | undefined): string {
  const variable = variables.get(name)
  if (value === undefined) {
    return `${name} is not set: it ${variable?.errorMessage ?? 'is required'} (\`make run\` sets everything by itself)`
  }
  return isSecret(name) ? `${name} ${text}` : `${name} ${text}, not "${value}"`
}

function isInteger(name: string): boolean {
  const { $ref, type } = variables.get(name) ?? {}
  const definitions = schema['$defs'] as Record<string, Schema>
  return (type ?? definitions[$ref?.split('/').at(-1) ?? '']?.['type']) === 'integer'
}

/**
 * Warnings for an operator about variables that look like ones of the gateway but are unknown: otherwise a mistyped name
 * would go unnoticed. A name that ends in _KEY may be a key that the catalog names.
 * @returns one sentence for each
 */
export function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const told: string[] = []
  const files = new Set(secretNames('make run').map(fileVariable))
  for (const name of Object.keys(env)) {
    if (!name.startsWith(PREFIX) || variables.has(name) || files.has(name) || name.startsWith(`${PREFIX}TEST_`))
      continue
    const meant = nearest(name, [...variables.keys()])
    if (meant !== undefined) told.push(`${name} is set but not known; did you mean ${meant}?`)
    else if (!name.endsWith('_KEY'))
      told.push(`${name} is set but not known; docs/reference/configuration.md lists every variable`)
  }
  return told
}
