// Goal: each question of docs/operations/incidents.md has its answer where the page says. Method: the faults are made on a whole
// installation with two controls, and the metrics, log events and commands that the page names for the question are read.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { projectRoot } from '../../../control/launch/paths.ts'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { chat, chatStream, completion } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { TestProcess } from '../../support/testProcess.ts'

/** Bounds of the metric lie between both. */
const [LATE_MS, SLOW_MS] = [1_500, 1_000]
const SLOW_STREAMS = 2
const SHARDS = 64

/** A row of the page. */
interface Answer {
  readonly metrics: readonly string[]
  readonly events: readonly string[]
  readonly commands: readonly string[]
  readonly dashboard: string
}

const PAGE = readFileSync(join(projectRoot, 'docs/operations/incidents.md'), 'utf8')
const SECTION =
  /^## The questions of 3 a\.m\.\n([\s\S]*?)^## /m.exec(PAGE)?.[1] ?? assert.fail('the page has no questions')
const ANSWERS = new Map(
  SECTION.split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('?'))
    .map((line): [string, Answer] => {
      const [, question = '', ...cells] = line.split('|')
      const [metrics = [], events = [], commands = [], dashboards = []] = cells.map((cell) =>
        Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name),
      )
      return [question.trim(), { metrics, events, commands, dashboard: dashboards[0] ?? '' }]
    }),
)
/** Questions that a test has asked. */
const asked = new Set<string>()

let stack: Stack
let second: TestProcess
let apiKey: string
let accountId: string
before(async () => {
  stack = await startStack({
    ownPostgres: true,
    limits: {
      breakerFailures: 100,
      slowProviderMs: SLOW_MS,
      slowProviderCheckMs: 300,
      slowProviderStreamsMin: SLOW_STREAMS,
      topSpendMs: 1_500,
      lagCheckMs: 200,
      settlementLateMs: 1_000,
      serverCheckMs: 200,
      bookerBeatMs: 200,
      bookerLeaseMs: 1_000,
    },
    catalog: {
      models: [
        { id: 'test/small' },
        { id: 'test/late', upstream: `late,slow_headers=${LATE_MS}` },
        { id: 'test/down', upstream: 'down,error=500' },
      ],
    },
  })
  second = new TestProcess('control2', 'control/main.js', [], stack.dir, stack.env)
  await second.start()
  ;({ apiKey, accountId } = await stack.createAccount())
})
after(async () => {
  await second.stop()
  await stack.finish()
})

const controls = (): string[] =>
  [stack.control, second].map(({ metricsPort }) => `http://127.0.0.1:${metricsPort}/metrics`)

/** The samples of a metric, with its buckets and sums, of all processes that answer, whose lines have all of these. */
async function samples(name: string, ...has: readonly string[]): Promise<number[]> {
  const urls = name.startsWith('sluice_control_') ? controls() : [stack.metricsUrl]
  const texts = await Promise.all(
    urls.map((url) =>
      fetch(url).then(
        (answer) => answer.text(),
        () => '',
      ),
    ),
  )
  return texts
    .flatMap((text) => text.split('\n'))
    .filter(
      (line) => new RegExp(`^${name}(_bucket|_sum|_count)?[{ ]`).test(line) && has.every((part) => line.includes(part)),
    )
    .map((line) => Number(line.slice(line.lastIndexOf(' '))))
}

const most = async (name: string, ...has: readonly string[]) => Math.max(0, ...(await samples(name, ...has)))

/** The lines with an event, of all logs. */
function logged(event: string): Readonly<Record<string, unknown>>[] {
  return ['control', 'control2', 'proxy'].flatMap((name) =>
    readFileSync(join(stack.dir, `${name}.log`), 'utf8')
      .split('\n')
      .filter((line) => line.includes(`"event":"${event}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  )
}

/** Runs a command of the page. @returns the rows of its answer */
async function answered(command: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  if (command.startsWith('SELECT')) {
    const pool = createPool(stack.databaseUrl, limits)
    return pool
      .query(command)
      .then(({ rows }) => rows)
      .finally(() => pool.end())
  }
  const { code, json, stderr } = await stack.cli(...command.split(' '))
  assert.equal(code, 0, stderr)
  return (json as { data?: readonly Readonly<Record<string, unknown>>[] }).data ?? []
}

/** The row of a question, once all that it names was seen. */
async function answerTo(beginning: string): Promise<Answer> {
  const [question, answer] = [...ANSWERS].find(([text]) => text.startsWith(beginning)) ?? assert.fail(beginning)
  asked.add(question)
  const dashboard = readFileSync(join(projectRoot, `deploy/grafana/${answer.dashboard}.json`), 'utf8')
  for (const metric of answer.metrics) {
    await until(`there is ${metric}`, async () => (await samples(metric)).length > 0)
    assert.ok(dashboard.includes(metric), `the dashboard ${answer.dashboard} does not show ${metric}`)
  }
  for (const event of answer.events) await until(`${event} is logged`, () => logged(event).length > 0)
  return answer
}

const of = (rows: readonly Readonly<Record<string, unknown>>[], column: string): unknown[] =>
  rows.map((row) => row[column])

test('which model is slow?', async () => {
  const streams = (model: string) =>
    Promise.all(Array.from({ length: SLOW_STREAMS }, () => chatStream(stack.baseUrl, apiKey, { model })))
  await Promise.all([streams('test/small'), streams('test/late')])
  const { commands } = await answerTo('Which model, provider or key is slow')
  await until('it is said which', () => of(logged('provider_slow'), 'model').includes('test/late'))
  const seconds = (model: string) =>
    most('gen_ai_server_time_to_first_token_seconds', `gen_ai_request_model="${model}"`, '_sum')
  assert.ok((await seconds('test/late')) >= (SLOW_STREAMS * LATE_MS) / 1_000)
  const [usage = '', routes = ''] = commands
  await until('it is booked', async () => of(await answered(usage), 'model').includes('test/late'))
  assert.ok((await answered(routes)).length > 0)
})

test('which provider fails?', async () => {
  assert.equal((await chat(stack.baseUrl, apiKey, { model: 'test/down' })).status, 502)
  const { commands } = await answerTo('Which model, provider or key fails')
  assert.equal(await most('sluice_model_errors_total', 'model="test/down"'), 1)
  assert.match(JSON.stringify(logged('route_failed')), /down,error=500/)
  const [usage = ''] = commands
  await until('it is booked', async () => {
    const rows = await answered(usage)
    return rows.some(({ hour, outcome, requests }) => hour !== undefined && outcome !== 'ok' && requests === 1)
  })
})

test('who spends what?', async () => {
  const spent = () => most('sluice_control_top_spend_units', `account="${accountId}"`)
  await until('the account spends', async () => {
    completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))
    return (await spent()) > 0
  })
  const { commands } = await answerTo('Who spends what now')
  const [usage = ''] = commands
  const row = (await answered(usage)).find((group) => group['account_id'] === accountId)
  assert.ok(Number((row?.['cost'] as { units: string } | undefined)?.units) > 0)
})

test('who books which shards, and who has taken over those of a control that died?', async () => {
  const shards = () => samples('sluice_control_shards')
  const all = async () => (await shards()).reduce((sum, count) => sum + count, 0) === SHARDS
  await until('both controls book', async () => (await all()) && (await shards()).every((count) => count > 0))
  await second.kill9()
  const { commands } = await answerTo('Who books which shards')
  await until('the other one has all', async () => (await shards()).join() === String(SHARDS))
  const taken = logged('settlement_shards_taken').at(-1)
  assert.ok(String(taken?.['shards']) !== '' && taken?.['time'] !== undefined)
  const [booked = ''] = commands
  await until('the book says so', async () => of(await answered(booked), 'count').join() === String(SHARDS))
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))
})

test('what does PostgreSQL do, and is money safe meanwhile?', async () => {
  await stack.postgres?.kill9()
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))
  await until('control says so', () => logged('postgres_slow').length > 0 && logged('settlement_late').length > 0)
  // Both may have been said before, on a busy machine.
  await until('control meets it', async () => (await most('sluice_control_postgres_errors_total')) > 0)
  await until('the settlement lags', async () => (await most('sluice_control_settlement_lag_seconds')) > 0)
  await stack.postgres?.restart()
  const { commands } = await answerTo('What does PostgreSQL do')
  assert.ok((await answered(commands[0] ?? '')).length > 0)
  assert.ok((await most('sluice_control_postgres_errors_total')) > 0)
  const money = await answerTo('Is money safe')
  assert.equal(await most('sluice_control_settlement_rejects_total'), 0)
  await stack.settled()
  await answered(money.commands[0] ?? '')
})

test('what does Redis do?', async () => {
  await stack.redis.kill9()
  await until('control and the proxy say so', () => logged('redis_slow').length > 0)
  await until('the worker is without it', async () => (await most('sluice_redis_away')) > 0)
  // A server that is back before a connection was tried again was never refused one.
  await until('a connection was refused', () => logged('redis_connection_failed').length > 0)
  await stack.redis.restart()
  await answerTo('What does Redis do')
  await until('all have it again', async () => (await most('sluice_redis_away')) === 0)
  const answers = async () => (await chat(stack.baseUrl, apiKey, { model: 'test/small' })).status === 200
  await until('requests are admitted', answers)
  assert.deepEqual([...asked].sort(), [...ANSWERS.keys()].sort(), 'every question of the page is asked here')
})
