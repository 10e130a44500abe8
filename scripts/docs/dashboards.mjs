import { unservedMetrics } from './alerts.mjs'
import { metricNames } from './metrics.mjs'

const FOLDER = 'deploy/grafana'
const COLUMNS = 24
const WIDTH = 12
const HEIGHT = 8

const rate = (metric, by = '') => `sum${by && ` by (${by})`} (rate(${metric}[$__rate_interval]))`
const quantile = (share, metric, by = '') =>
  `histogram_quantile(${share}, sum by (${by && `${by}, `}le) (rate(${metric}_bucket[$__rate_interval])))`

/** Panels: the title, the unit of Grafana, and each query with its legend. */
const DASHBOARDS = {
  overview: [
    ['Requests a second', 'reqps', [rate('sluice_requests_total'), 'requests']],
    ['Requests by ending', 'reqps', [rate('sluice_requests_ended_total', 'status'), '{{status}}']],
    ['Errors by code', 'reqps', [rate('sluice_errors_total', 'error'), '{{error}}']],
    [
      'Time in the gateway before the provider is called',
      's',
      [quantile(0.5, 'sluice_admission_seconds'), 'p50'],
      [quantile(0.99, 'sluice_admission_seconds'), 'p99'],
    ],
    ['Open requests', 'short', ['sum(sluice_open_requests)', 'open'], ['sum(sluice_active_runs)', 'with a hold']],
    ['Requests by model', 'reqps', [rate('sluice_model_requests_total', 'model'), '{{model}}']],
    ['Falls to another model', 'reqps', [rate('sluice_fallbacks_total', 'reason'), '{{reason}}']],
    [
      'Parts that answer',
      'short',
      ['sum(sluice_workers)', 'workers'],
      ['count(sluice_control_process_start_time_seconds)', 'controls'],
    ],
  ],
  money: [
    [
      'Charged, USD an hour',
      'currencyUSD',
      [`3600 * ${rate('sluice_model_charged_units_total', 'model')} / 1e9`, '{{model}}'],
    ],
    [
      'Age of the oldest ending that is not booked',
      's',
      ['max(sluice_control_settlement_lag_seconds)', 'book'],
      ['max(sluice_delivery_lag_seconds)', 'deliveries'],
    ],
    [
      'Endings that wait',
      'short',
      ['sum(sluice_settlements_waiting)', 'in proxies'],
      ['max(sluice_control_ledger_stream_entries)', 'in Redis'],
    ],
    ['Entries that could not be booked', 'short', ['sum(sluice_control_settlement_rejects_total)', 'rejects']],
    ['Units in leases, USD', 'currencyUSD', ['max(sluice_control_leases_out_units) / 1e9', 'leased']],
    ['Open holds', 'short', ['max(sluice_control_holds_open)', 'in Redis'], ['sum(sluice_leased_holds)', 'on leases']],
    [
      'Reserve, USD',
      'currencyUSD',
      ['max(sluice_control_reserve_held_units) / 1e9', 'held'],
      ['max(sluice_control_reserve_owed_units) / 1e9', 'owed'],
    ],
    [
      'Transactions',
      'short',
      ['max(sluice_control_transactions_pending)', 'pending'],
      ['max(sluice_control_transactions_stuck)', 'stuck'],
    ],
    [
      'Charges beyond the hold, and estimates',
      'reqps',
      [rate('sluice_charges_clamped_total'), 'clamped'],
      [rate('sluice_usage_estimated_total'), 'estimated'],
    ],
    ['Age of the oldest hour that is not exported', 's', ['max(sluice_control_export_lag_seconds)', 'hour']],
    ['Failed attempts at the next file of the export', 'short', ['max(sluice_control_export_failures)', 'failures']],
    [
      'Keys that spend most, USD in 5 minutes',
      'currencyUSD',
      ['topk(10, sluice_control_top_spend_units) / 1e9', '{{account}} {{key}}'],
    ],
  ],
  providers: [
    ['Requests by provider', 'reqps', [rate('sluice_model_requests_total', 'provider'), '{{provider}}']],
    ['Failed attempts by provider', 'reqps', [rate('sluice_route_faults_total', 'provider'), '{{provider}}']],
    ['Errors by model', 'reqps', [rate('sluice_model_errors_total', 'model, error'), '{{model}}: {{error}}']],
    [
      'Time to the first token, p95',
      's',
      [quantile(0.95, 'gen_ai_server_time_to_first_token_seconds', 'gen_ai_provider_name'), '{{gen_ai_provider_name}}'],
    ],
    [
      'Time per output token, p50',
      's',
      [
        quantile(0.5, 'gen_ai_server_time_per_output_token_seconds', 'gen_ai_provider_name'),
        '{{gen_ai_provider_name}}',
      ],
    ],
    [
      'Duration, p95',
      's',
      [quantile(0.95, 'gen_ai_client_operation_duration_seconds', 'gen_ai_request_model'), '{{gen_ai_request_model}}'],
    ],
    ['Output tokens a second', 'short', [rate('sluice_model_tokens_total{type="output"}', 'provider'), '{{provider}}']],
    [
      'Part of the prompts that was cached',
      'percentunit',
      [
        `${rate('sluice_model_tokens_total{type="cached_input"}', 'provider, key')} / ${rate('sluice_model_tokens_total{type=~"input|cached_input|cache_write_5m|cache_write_1h"}', 'provider, key')}`,
        '{{provider}}/{{key}}',
      ],
    ],
    ['Routes that are out', 'short', ['sum by (route) (sluice_routes_out)', '{{route}}']],
    ['Keys that are out', 'short', ['sum by (key, fault) (sluice_provider_keys_out)', '{{key}} {{fault}}']],
    ['Failed connections by cause', 'reqps', [rate('sluice_connection_faults_total', 'cause'), '{{cause}}']],
  ],
  installation: [
    ['Builds', 'short', ['sum by (version, revision) (sluice_build_info)', '{{version}} {{revision}}']],
    ['Requests by worker', 'reqps', [rate('sluice_worker_requests_total', 'worker'), '{{worker}}']],
    [
      'Event-loop delay, p99',
      's',
      ['max(sluice_event_loop_delay_p99_seconds)', 'workers'],
      ['max(sluice_control_nodejs_eventloop_lag_p99_seconds)', 'control'],
    ],
    [
      'Memory',
      'bytes',
      ['sum(sluice_resident_bytes)', 'workers'],
      ['sum(sluice_control_process_resident_memory_bytes)', 'control'],
    ],
    [
      'CPU of control',
      'percentunit',
      ['sum(rate(sluice_control_process_cpu_seconds_total[$__rate_interval]))', 'control'],
    ],
    ['Calls of proxies to control', 'reqps', [rate('sluice_control_rpc_total', 'operation'), '{{operation}}']],
    ['Time of these calls, p99', 's', [quantile(0.99, 'sluice_control_rpc_seconds', 'operation'), '{{operation}}']],
    ['Records of keys by their source', 'reqps', [rate('sluice_key_records_total', 'source'), '{{source}}']],
    ['Journal', 'bytes', ['sum(sluice_journal_bytes)', 'kept'], ['sum(sluice_journal_lag_bytes)', 'not on disk']],
    [
      'Differences of clocks',
      's',
      ['max(abs(sluice_clock_difference_seconds))', 'proxies'],
      ['max(abs(sluice_control_clock_difference_seconds))', 'control'],
    ],
    ['Workers replaced', 'short', ['sum(sluice_worker_restarts_total)', 'restarts']],
    ['Shards by control', 'short', ['sum by (instance) (sluice_control_shards)', '{{instance}}']],
    [
      'PostgreSQL: time of statements',
      's',
      [quantile(0.99, 'sluice_control_postgres_statement_seconds'), 'p99'],
      ['max(sluice_control_postgres_round_trip_seconds)', 'round trip'],
      ['max(sluice_control_postgres_transaction_oldest_seconds)', 'oldest transaction'],
    ],
    [
      'PostgreSQL: connections',
      'short',
      ['sum(sluice_control_postgres_pool_connections)', 'of controls'],
      ['sum(sluice_control_postgres_pool_waiting)', 'callers that wait'],
      ['max(sluice_control_postgres_sessions)', 'sessions'],
      ['max(sluice_control_postgres_sessions_active)', 'active'],
      ['max(sluice_control_postgres_sessions_locked)', 'waiting for a lock'],
    ],
    ['PostgreSQL: errors', 'reqps', [rate('sluice_control_postgres_errors_total', 'class'), '{{class}}']],
    [
      'Redis: round trip',
      's',
      ['max(sluice_redis_round_trip_seconds)', 'workers'],
      ['max(sluice_control_redis_round_trip_seconds)', 'control'],
    ],
    [
      'Redis: memory',
      'bytes',
      ['max(sluice_control_redis_used_bytes)', 'used'],
      ['max(sluice_control_redis_max_bytes)', 'bound'],
    ],
    [
      'Redis: servers',
      'short',
      ['sum(sluice_redis_away)', 'workers without a connection'],
      ['max(sluice_control_redis_replicas)', 'replicas'],
      ['max(sluice_control_redis_changes_total)', 'failovers and restarts'],
    ],
  ],
}

/** The dashboards for Grafana, one file each. @returns {Promise<[name: string, text: string][]>} */
export async function dashboardFiles() {
  const metrics = new Set(await metricNames())
  return Object.entries(DASHBOARDS).map(([name, panels]) => {
    const faults = dashboardFaults(panels, metrics)
    if (faults.length > 0) throw new Error(`the dashboard ${name}: ${faults.join('; ')}`)
    return [`${FOLDER}/${name}.json`, `${JSON.stringify(dashboard(name, panels), null, 2)}\n`]
  })
}

/** The metrics that panels read and no part serves. @param {ReadonlySet<string>} metrics the names of those that exist */
export function dashboardFaults(panels, metrics) {
  return panels.flatMap(([title, , ...queries]) =>
    queries
      .flatMap(([expr]) => unservedMetrics(expr, metrics))
      .map((name) => `${title} reads ${name}, which no part serves`),
  )
}

function dashboard(name, panels) {
  return {
    uid: `sluice-${name}`,
    title: `Sluice: ${name}`,
    tags: ['sluice'],
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' }] },
    panels: panels.map((one, index) => panel(one, index)),
  }
}

function panel([title, unit, ...queries], index) {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the variable of the dashboard.
  const datasource = { type: 'prometheus', uid: '${datasource}' }
  return {
    id: index + 1,
    title,
    type: 'timeseries',
    datasource,
    gridPos: { x: (index * WIDTH) % COLUMNS, y: Math.floor((index * WIDTH) / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: unit === 's' ? undefined : 0 }, overrides: [] },
    targets: queries.map(([expr, legendFormat], i) => ({
      refId: String.fromCharCode(65 + i),
      datasource,
      expr,
      legendFormat,
    })),
  }
}
