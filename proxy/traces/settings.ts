import { readPem } from '../../contract/providers/providerKeys.ts'
import type { Variables } from '../../contract/schemas/environment.ts'
import type { SamplerName } from './sampler.ts'

const SIGNAL_PATH = '/v1/traces'
const SERVICE = 'sluice'
const TIMEOUT_MS = 10_000

/** The settings of traces, by the OTEL_* variables. */
export interface TraceSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** In PEM; absent are those that Node.js trusts. */
  readonly certificates?: string
  readonly gzip: boolean
  readonly timeoutMs: number
  readonly sampler: SamplerName
  readonly ratio: number
  /** Attributes of the process: name, value. */
  readonly resource: readonly (readonly [name: string, value: string])[]
  readonly queueSpansMax: number
  readonly batchSpansMax: number
  readonly delayMs: number
  /** Spans of keys that say so have the content of their requests. */
  readonly capturesContent: boolean
}

type OtelVariables = Pick<Variables, Extract<keyof Variables, `OTEL_${string}`>>

/**
 * Reads the settings of traces.
 * @returns undefined where there are none to export
 * @throws Error naming the variable that is not usable
 */
export function traceSettingsOf(variables: OtelVariables): TraceSettings | undefined {
  const { OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG } = variables
  const url = urlOf(variables)
  const isOff = OTEL_SDK_DISABLED?.toLowerCase() === 'true' || OTEL_TRACES_EXPORTER === 'none'
  if (isOff || url === undefined || OTEL_TRACES_SAMPLER === 'always_off') return undefined
  const protocol = variables.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? variables.OTEL_EXPORTER_OTLP_PROTOCOL
  if (protocol !== undefined && protocol !== 'http/protobuf') {
    throw new Error(
      `OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, not "${protocol}": traces are exported by no other`,
    )
  }
  const compression = variables.OTEL_EXPORTER_OTLP_TRACES_COMPRESSION ?? variables.OTEL_EXPORTER_OTLP_COMPRESSION
  const file = variables.OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE ?? variables.OTEL_EXPORTER_OTLP_CERTIFICATE
  const queueSpansMax = variables.OTEL_BSP_MAX_QUEUE_SIZE
  return {
    url,
    headers: headersOf(variables),
    ...(file !== undefined && { certificates: certificatesIn(file) }),
    gzip: compression === 'gzip',
    timeoutMs: variables.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? variables.OTEL_EXPORTER_OTLP_TIMEOUT ?? TIMEOUT_MS,
    sampler: OTEL_TRACES_SAMPLER,
    ratio: Number(OTEL_TRACES_SAMPLER_ARG),
    resource: resourceOf(variables),
    queueSpansMax,
    batchSpansMax: Math.min(variables.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, queueSpansMax),
    delayMs: variables.OTEL_BSP_SCHEDULE_DELAY,
    capturesContent: variables.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === 'true',
  }
}

/** The address of one signal is taken as it is, the address of all of them has the path of traces below it. */
function urlOf(variables: OtelVariables): string | undefined {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = variables
  if (own !== undefined) return checkedUrl('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', own)
  if (shared === undefined) return undefined
  return checkedUrl('OTEL_EXPORTER_OTLP_ENDPOINT', shared.replace(/\/+$/, '') + SIGNAL_PATH)
}

function checkedUrl(name: string, url: string): string {
  if (URL.canParse(url)) return url
  throw new Error(`${name} must be an address such as http://127.0.0.1:4318`)
}

function headersOf(variables: OtelVariables): Record<string, string> {
  const { OTEL_EXPORTER_OTLP_HEADERS: shared = '', OTEL_EXPORTER_OTLP_TRACES_HEADERS: own = '' } = variables
  const all = [...pairsIn('OTEL_EXPORTER_OTLP_HEADERS', shared), ...pairsIn('OTEL_EXPORTER_OTLP_TRACES_HEADERS', own)]
  return Object.fromEntries(all.map(([name, value]) => [name.toLowerCase(), value]))
}

function resourceOf({ OTEL_RESOURCE_ATTRIBUTES = '', OTEL_SERVICE_NAME }: OtelVariables): [string, string][] {
  const given = new Map(pairsIn('OTEL_RESOURCE_ATTRIBUTES', OTEL_RESOURCE_ATTRIBUTES))
  const name = OTEL_SERVICE_NAME ?? given.get('service.name') ?? SERVICE
  return [...given.set('service.name', name)]
}

/** The pairs of `name=value,name=value`, whose values are percent-encoded. @throws Error that repeats no value */
function pairsIn(variable: string, text: string): [name: string, value: string][] {
  return text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      const name = pair.slice(0, Math.max(0, at)).trim()
      const value = decoded(pair.slice(at + 1).trim())
      if (/^[\w.!#$%&'*+^`|~/-]+$/.test(name) && value !== undefined && /^[^\p{Cc}]*$/u.test(value))
        return [name, value]
      throw new Error(`${variable} must be name=value pairs, separated by commas, with percent-encoded values`)
    })
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function certificatesIn(file: string): string {
  const { text, fault } = readPem(file)
  if (fault === '') return text
  throw new Error(`OTEL_EXPORTER_OTLP_CERTIFICATE names a file that cannot be read: ${file}: ${fault}`)
}
