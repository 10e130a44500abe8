import type { Logger } from 'pino'
import { MoneyFault } from '../contract/money/moneyFault.ts'
import { type LogEventTable, logEventOf, logRepeatOf } from '../contract/std/logEvents.ts'

/** Every line that the proxy logs. Operators alert on these names: one that has been released is never changed. */
export const PROXY_EVENTS = {
  access_log_failed: [
    'error',
    'could not write the access log; its lines are dropped beyond a bound, and requests go on',
    'Look at the disk and the permissions of `path`.',
  ],
  access_log_recovered: ['info', 'the access log is written again'],
  agent_approval_return_failed: ['warn', 'could not return an unused approval of an agent'],
  catalog_in_force: ['info', 'catalog in force'],
  catalog_read_failed: ['warn', 'could not read the catalog from Redis; keeping the one in force'],
  clock_agrees: ['info', "the clock of this machine agrees with Redis's again"],
  clock_differs: [
    'warn',
    "the clock of this machine differs from Redis's: money goes by Redis's, but times of receipts and log lines are wrong",
    'Set the clock of this machine, or of the one of Redis, by NTP; `differenceMs` is how far this one is ahead.',
  ],
  configuration_variable_unknown: [
    'warn',
    'environment variable unknown; ignored',
    'Correct the name, or remove the variable.',
  ],
  dependency_pending: [
    'warn',
    'still waiting for a dependency',
    'Start Redis and control; `waitingFor` names what is missing.',
  ],
  dependency_unavailable: ['debug', 'a dependency is not available; retrying'],
  feed_read_failed: ['warn', 'could not read the feed of key and catalog changes; retrying'],
  hold_failed: ['warn', 'could not take holds in Redis'],
  hold_void_failed: ['warn', 'could not void holds in Redis; retrying'],
  incidents_read_failed: ['warn', 'could not read the incidents from Redis'],
  journal_replay_disabled: [
    'error',
    'journals of earlier processes are not replayed',
    'Check Redis, then restart the proxy: the requests in these journals stay unsettled until then.',
  ],
  journal_replay_failed: [
    'warn',
    'could not replay the journal of an earlier process; retrying',
    'If it persists, check the disk below SLUICE_DATA and the connection to Redis.',
  ],
  journal_unreadable: [
    'error',
    'a journal of an earlier process cannot be read, so nothing of it is charged; its folder was set aside',
    'See "a journal that cannot be read" in docs/operations/redis.md. Do not delete the folder before.',
  ],
  journal_write_failed: [
    'error',
    'could not write the journal; no requests are admitted until it can be written',
    'Check the disk below SLUICE_DATA (and SLUICE_JOURNAL_MEMORY): space, permissions, and errors of the device.',
  ],
  lease_failed: ['warn', 'could not renew, report or return leases'],
  metering_disabled: [
    'fatal',
    'METERING IS OFF (SLUICE_BENCH_UNMETERED): requests run unpaid',
    'Remove SLUICE_BENCH_UNMETERED from the environment; it is for benchmarks alone.',
  ],
  money_rule_broken: [
    'error',
    'an amount breaks a rule of the money path; its request has ended without a charge',
    'Run `sluice audit` and report `rule` and `err`: this is a fault of the gateway. Its hold stays until the proxy is restarted.',
  ],
  orphaned_requests_voided: ['warn', 'voided the open requests of a process that died'],
  payment_failed: ['warn', 'could not take a payment'],
  provider_key_missing: [
    'warn',
    'provider API key cannot be read; requests go to the other keys of the provider, and without any its routes are disabled',
    'Set the environment variable that `variable` names, and restart the proxy; or write the file that `path` names, which is read again by itself.',
  ],
  provider_key_refused: [
    'error',
    'the provider refuses an API key: it is revoked, suspended, or its account has no money; requests go to the other keys',
    'Replace the secret of `key`, or pay the account at the provider. The key is asked again once its secret changes, and from time to time.',
  ],
  provider_keys_changed: ['info', 'the files with API keys of providers have changed, and are in use'],
  provider_recovered: ['info', 'the provider is fast again with this model'],
  provider_slow: [
    'warn',
    'the provider is slow with this model: most of the last streams waited longer than `limitMs` for their first token',
    'Look at the dashboard `providers`; disable the route, or lower its place in the catalog. A model that thinks for long is not slow: raise slowProviderMs.',
  ],
  proxy_ready: ['info', 'proxy is ready'],
  quota_failed: ['warn', 'could not take permits of quotas in Redis; keys of providers are asked without'],
  redis_connection_failed: ['warn', 'connection to Redis failed; reconnecting', 'Check Redis and REDIS_URL.'],
  redis_connection_restored: ['info', 'connection to Redis works again'],
  redis_still_away: ['warn', 'Redis is still away', 'Check Redis and REDIS_URL.'],
  redis_identity_unknown: ['warn', 'could not determine which Redis server answers; no new holds until it is known'],
  refusal_records_failed: ['warn', 'could not keep the figures of refused requests, which cannot be explained'],
  request_crashed: [
    'error',
    'request failed by a fault of the gateway; it is charged only where output was sent',
    'Report it with the stack trace in `err`.',
  ],
  request_handler_failed: [
    'error',
    'request handler threw an error; the client was answered internal_error',
    'Report it with the stack trace in `err`.',
  ],
  requests_refused: ['info', 'requests answered with an error, by row of the error table'],
  route_failed: [
    'warn',
    'provider route failed',
    'Check the provider; failover, retries and the circuit breaker keep the model available while another route works.',
  ],
  route_views_failed: [
    'debug',
    'could not exchange with the other processes which routes fail; /v1/status shows the own view',
  ],
  settlement_failed: ['warn', 'could not record the ending of a request'],
  sign_off_failed: ['warn', 'could not remove the heartbeat of this process; it will expire'],
  startup_failed: ['fatal', 'startup failed', 'Read `err`, correct the configuration, and start again.'],
  supervisor_redis_connection_failed: ['debug', 'connection of the supervisor to Redis failed; reconnecting'],
  thread_failed: ['warn', 'an idle worker thread failed; a new one replaces it'],
  tool_key_missing: [
    'warn',
    'provider API key not set; tool disabled',
    'Set the environment variable that `variable` names, and restart the proxy.',
  ],
  traces_export_failed: [
    'warn',
    'could not export traces; they are dropped beyond a bound, and requests go on',
    'Check the receiver at `url` and the OTEL_EXPORTER_OTLP_* variables.',
  ],
  traces_export_recovered: ['info', 'traces are exported again'],
  usage_contradicted: [
    'warn',
    'the counts of a usage report do not add up; charged as they are stated (logged once for each provider)',
    'Compare the receipts with the invoice of the provider, and report the shape of its usage.',
  ],
  video_wake_failed: ['warn', 'could not wake the requests that wait for a video job'],
  worker_died: ['error', 'worker process died; a new one replaces it', 'Report it with the lines that precede it.'],
  worker_draining: ['info', 'draining: finishing open requests, accepting no new ones'],
  worker_listening: ['info', 'worker is listening'],
  worker_restart_failed: ['error', 'could not restart a worker process; retrying'],
  worker_stopped: ['info', 'worker stopped'],
} as const satisfies LogEventTable

export type ProxyEvent = keyof typeof PROXY_EVENTS

/** Logs an event of the proxy. */
export const logEvent = logEventOf(PROXY_EVENTS)
const logRepeat = logRepeatOf(PROXY_EVENTS)

/**
 * Logs errors under the event of their place, once a minute those that come again; a broken rule of the money path has its own event
 * everywhere.
 */
export function faultLog(log: Logger): (event: ProxyEvent) => (err: unknown) => void {
  return (event) => (err) => {
    if (err instanceof MoneyFault) logEvent(log, 'money_rule_broken', { err, rule: err.rule })
    else logRepeat(log, event, { err })
  }
}
