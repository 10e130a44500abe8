import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { chat, chatStream, completion, type Receipt } from '../../support/clients/chatClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const M = 'test/small'

let stack: Stack
let apiKey: string
/** How much the metrics have moved since `mark`. */
let marked: Map<string, number>

before(async () => {
  stack = await startStack({
    workers: 2,
    // Gauges that are not read in time are shown as they were.
    limits: { breakerFailures: 100, scrapeReadsMs: 30_000 },
    catalog: {
      models: [
        { id: M },
        { id: 'test/over', upstream: 'mock,prompt=5000,completion=5000' },
        { id: 'test/none', upstream: 'mock,usage=none' },
        { id: 'test/cut', upstream: 'mock,cut=3' },
        { id: 'test/down', upstream: 'mock,error=500' },
        { id: 'test/slow', upstream: 'mock,chunks=2000,delay=20' },
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(() => stack.finish())

/** Samples by name with labels, such as `sluice_errors_total{error="rate_limited"}`. */
async function samples(url: string): Promise<Map<string, number>> {
  const response = await fetch(url)
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain/)
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ')
      return [line.slice(0, space), Number(line.slice(space + 1))]
    }),
  )
}

async function mark(): Promise<void> {
  marked = await samples(stack.metricsUrl)
}

/** Asserts by how much each of these has grown since `mark`. */
async function grew(expected: Record<string, number>): Promise<void> {
  let seen: Record<string, number> = {}
  // A worker that stands still is shown with its last report.
  await until('all have grown', async () => {
    const now = await samples(stack.metricsUrl)
    const grown = Object.keys(expected).map((name) => [name, (now.get(name) ?? 0) - (marked.get(name) ?? 0)] as const)
    seen = Object.fromEntries(grown)
    return grown.every(([name, by]) => by >= (expected[name] ?? 0))
  }).catch(() => undefined)
  assert.deepEqual(seen, expected)
}

test('served requests count, with their charges', async () => {
  await mark()
  const whole = completion(await chat(stack.baseUrl, apiKey, { model: M })).receipt
  const streamed = (await chatStream(stack.baseUrl, apiKey, { model: M })).receipt
  await grew({
    sluice_requests_total: 2,
    sluice_streams_total: 1,
    'sluice_requests_ended_total{status="ok"}': 2,
    sluice_charged_units_total: Number(whole.cost.units) + Number(streamed?.cost.units),
    sluice_admission_seconds_count: 2,
    'sluice_admission_seconds_bucket{le="+Inf"}': 2,
    sluice_charges_clamped_total: 0,
    sluice_usage_estimated_total: 0,
    sluice_holds_refused_total: 0,
  })
})

test('errors count by their kind', async () => {
  const poor = await stack.createAccount({ credits: '0.00000001' })
  await mark()
  await chat(stack.baseUrl, apiKey, { model: 'test/over', max_tokens: 5 })
  await chat(stack.baseUrl, apiKey, { model: 'test/none' })
  await chatStream(stack.baseUrl, apiKey, { model: 'test/cut' })
  await chat(stack.baseUrl, apiKey, { model: 'test/down' })
  await chat(stack.baseUrl, poor.apiKey, { model: M })
  await chat(stack.baseUrl, apiKey, { model: M, n: 2 })
  await fetch(`${stack.baseUrl}/v1/nothing`)
  await grew({
    'sluice_requests_ended_total{status="ok"}': 2,
    'sluice_requests_ended_total{status="partial"}': 1,
    'sluice_requests_ended_total{status="failed"}': 1,
    sluice_charges_clamped_total: 1,
    sluice_usage_estimated_total: 2,
    sluice_holds_refused_total: 1,
    'sluice_errors_total{error="insufficient_balance"}': 1,
    'sluice_errors_total{error="upstream_unavailable"}': 1,
    'sluice_errors_total{error="stream_interrupted"}': 1,
    'sluice_errors_total{error="invalid_request"}': 1,
  })
  const faults = (await samples(stack.metricsUrl)).get('sluice_route_faults_total{provider="mock"}')
  assert.ok(faults !== undefined && faults >= 2)
})

test('requests count by model, provider, operation and ending, with their tokens, charges and times', async () => {
  await mark()
  const whole = completion(await chat(stack.baseUrl, apiKey, { model: M })).receipt
  const { receipt } = await chatStream(stack.baseUrl, apiKey, {
    model: M,
    stream_options: { include_usage: true },
  })
  await chatStream(stack.baseUrl, apiKey, { model: 'test/cut' })
  await chat(stack.baseUrl, apiKey, { model: 'test/down' })
  const of = (model: string, label = '', provider = 'mock', key = 'default') =>
    `{model="${model}",provider="${provider}",key="${key}",operation="chat"${label}}`
  const genAi = (label = '') =>
    `{gen_ai_operation_name="chat",gen_ai_provider_name="mock",gen_ai_request_model="${M}"${label}}`
  const tokens = (part: (used: Receipt['usage']) => number) => part(whole.usage) + part(receipt?.usage ?? whole.usage)
  await grew({
    [`sluice_model_requests_total${of(M, ',status="ok"')}`]: 2,
    [`sluice_model_requests_total${of('test/cut', ',status="partial"')}`]: 1,
    [`sluice_model_errors_total${of('test/cut', ',error="stream_interrupted"')}`]: 1,
    [`sluice_model_requests_total${of('test/down', ',status="failed"', '', '')}`]: 1,
    [`sluice_model_charged_units_total${of(M)}`]: Number(whole.cost.units) + Number(receipt?.cost.units),
    [`sluice_model_tokens_total${of(M, ',type="input"')}`]: tokens(({ prompt_tokens: count }) => count),
    [`sluice_model_tokens_total${of(M, ',type="output"')}`]: tokens(({ completion_tokens: count }) => count),
    [`gen_ai_client_operation_duration_seconds_count${genAi()}`]: 2,
    [`gen_ai_server_time_to_first_token_seconds_count${genAi()}`]: 1,
    [`gen_ai_server_time_per_output_token_seconds_count${genAi()}`]: 1,
    [`gen_ai_client_token_usage_sum${genAi(',gen_ai_token_type="output"')}`]: tokens((used) => used.completion_tokens),
  })
})

const LEASE_GAUGES = ['sluice_control_lease_owners', 'sluice_control_leases', 'sluice_control_leases_out_units']

test('gauges show running requests', async () => {
  const controller = new AbortController()
  const open = Array.from({ length: 5 }, async () => {
    const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/slow', stream: true, messages: [{ role: 'user', content: 'x' }] }),
      signal: controller.signal,
    })
    return response.text()
  })
  await until('five requests run', async () => (await samples(stack.metricsUrl)).get('sluice_active_runs') === 5)
  const now = await samples(stack.metricsUrl)
  assert.deepEqual([now.get('sluice_open_requests'), now.get('sluice_workers')], [5, 2])
  assert.ok((now.get('sluice_resident_bytes') ?? 0) > 50e6)
  assert.ok((now.get('sluice_event_loop_delay_p99_seconds') ?? -1) >= 0)
  const leased = await samples(stack.controlMetricsUrl)
  const [owners = 0, leases = 0, units = 0] = LEASE_GAUGES.map((name) => leased.get(name))
  assert.ok(owners >= 1 && owners <= 2 && leases >= owners && leases <= 5, `${leases} leases of ${owners} owners`)
  assert.ok(units > 0)
  assert.equal(leased.get('sluice_control_holds_open'), 0)
  controller.abort()
  await Promise.allSettled(open)
  await until('nothing runs', async () => {
    const gauges = await samples(stack.metricsUrl)
    return ['sluice_active_runs', 'sluice_open_requests', 'sluice_settlements_waiting'].every(
      (name) => gauges.get(name) === 0,
    )
  })
  await until('nothing is leased', async () => {
    const gauges = await samples(stack.controlMetricsUrl)
    return LEASE_GAUGES.every((name) => gauges.get(name) === 0)
  })
})

test('control counts its bookings and responses', async () => {
  await stack.settled()
  const before = await samples(stack.controlMetricsUrl)
  for (let i = 0; i < 3; i++) completion(await chat(stack.baseUrl, apiKey, { model: M }))
  await fetch(`${stack.baseUrl}/v1/pricing/sheets`)
  await stack.settled()
  const now = await samples(stack.controlMetricsUrl)
  const growth = (name: string) => (now.get(name) ?? 0) - (before.get(name) ?? 0)
  assert.equal(growth('sluice_control_settlement_receipts_total'), 3)
  assert.equal(growth('sluice_control_rpc_total{operation="list_sheets",outcome="ok"}'), 1)
  assert.equal(now.get('sluice_control_settlement_rejects_total'), 0)
  assert.equal(now.get('sluice_control_settlement_shortfall_units_total'), 0)
  assert.equal(now.get('sluice_control_ledger_stream_entries'), 0)
  await until('all receipts are in a checkpoint', async () => {
    return (await samples(stack.controlMetricsUrl)).get('sluice_control_receipts_unsigned') === 0
  })
  const signed = await samples(stack.controlMetricsUrl)
  assert.ok((signed.get('sluice_control_checkpoint_heads') ?? 0) > 0)
  assert.equal(signed.get('sluice_control_logs_rewound'), 0)
  assert.equal(signed.get('sluice_control_cosigned_age_seconds'), 0)
})

test('the private port also serves load balancer and supervisor probes, and no other route', async () => {
  for (const url of [stack.metricsUrl, stack.controlMetricsUrl]) {
    const at = async (path: string) => (await fetch(url.replace('/metrics', path))).status
    const statuses = await Promise.all(['/live', '/ready', '/', '/v1/models'].map(at))
    assert.deepEqual(statuses, [200, 200, 404, 404])
  }
})

test('the private ports keep no connection alive, so no later request meets a closed one', async () => {
  for (const url of [stack.metricsUrl, stack.controlMetricsUrl]) {
    const response = await fetch(url)
    assert.equal(response.headers.get('connection'), 'close')
    await response.arrayBuffer()
  }
})

/** What Prometheus's own linter says of names. https://prometheus.io/docs/practices/naming */
function namingFaults(text: string): string[] {
  const types = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name = '', type = '']) => ({ name, type }))
  const helps = new Set([...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name))
  const labels = [...text.matchAll(/[{,](\w+)="/g)].map(([, label = '']) => label)
  const abbreviated = /(?:^|_)(?:s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d)(?:_|$)/
  const notBase =
    /(?:^|_)(?:milliseconds?|microseconds?|nanoseconds?|minutes?|hours?|days?|kilobytes?|megabytes?|bits|percent)(?:_|$)/
  return [
    ...types.flatMap(({ name, type }) => [
      ...((type === 'counter') === name.endsWith('_total') ? [] : [`${name}: _total is for counters`]),
      ...(abbreviated.test(name) ? [`${name}: an abbreviated unit`] : []),
      ...(notBase.test(name) ? [`${name}: no base unit`] : []),
      ...(/_(?:count|sum|bucket)$/.test(name) ? [`${name}: a suffix of histograms`] : []),
      ...(/(?:^|_)(?:gauge|counter|histogram|summary)(?:_|$)/.test(name) ? [`${name}: its type`] : []),
      ...(/^[a-z][a-z0-9_]*$/.test(name) ? [] : [`${name}: not in snake case`]),
      ...(helps.has(name) ? [] : [`${name}: no help`]),
    ]),
    ...labels.filter((label) => !/^[a-z][a-z0-9_]*$/.test(label)).map((label) => `${label}: not in snake case`),
  ]
}

test('names of metrics follow the rules of Prometheus, and each part names its build', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  for (const url of [stack.metricsUrl, stack.controlMetricsUrl]) {
    const text = await (await fetch(url)).text()
    assert.deepEqual(namingFaults(text), [])
    assert.match(
      text,
      new RegExp(
        `^sluice_build_info\\{version="${version}",revision="[0-9a-f]*",node="${process.versions.node}"\\} 1$`,
        'm',
      ),
    )
  }
  assert.deepEqual(
    namingFaults(
      '# HELP a_ms x\n# TYPE a_ms histogram\n# TYPE some_total gauge\n# HELP other x\n# TYPE other counter\n',
    ).length,
    4,
  )
})

test('clocks are compared with the one of Redis', async () => {
  for (const [url, name] of [
    [stack.metricsUrl, 'sluice_clock_difference_seconds'],
    [stack.controlMetricsUrl, 'sluice_control_clock_difference_seconds'],
  ] as const) {
    const value = (await samples(url)).get(name)
    assert.ok(value !== undefined && Math.abs(value) < 2, `${name} ${value}`)
  }
})
