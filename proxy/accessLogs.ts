import type { Logger } from 'pino'
import { clientAddress } from './access/clientAddress.ts'
import type { ProxyConfig } from './config.ts'
import { AccessLog } from './metrics/accessLog.ts'
import type { MetricsLimits } from './metrics/limits.ts'

/** The access log that the settings ask for; undefined for none. */
export function accessLogOf(config: ProxyConfig, log: Logger, limits: MetricsLimits): AccessLog | undefined {
  const { accessLog, accessLogAddresses, trustedProxies } = config
  if (accessLog === '') return undefined
  const clientOf = (exchange: Parameters<typeof clientAddress>[0]): string =>
    accessLogAddresses ? clientAddress(exchange, trustedProxies) : ''
  return new AccessLog(accessLog, clientOf, log, limits)
}
