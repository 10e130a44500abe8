// Goal: every program reads the same variable the same way, and says of a wrong one what it must be.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type Program,
  readVariables,
  secretNames,
  unknownVariables,
  variableNames,
} from '../../../../contract/schemas/environment.ts'
import { takeSecretFiles } from '../../../../contract/schemas/secretFiles.ts'
import { readSettings } from '../../../../control/launch/settings.ts'
import { readEnvironment } from '../../../../control/service/environment.ts'
import { readConfig } from '../../../../proxy/config.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

const BUS_KEY = '0a'.repeat(32)
const BASE = { DATABASE_URL: 'postgres://u@127.0.0.1/x', REDIS_URL: 'redis://127.0.0.1', SLUICE_BUS_KEY: BUS_KEY }

test('proxy, control and make run accept the same Redis URLs, including a socket', (t) => {
  const dir = makeTempDir('environment')
  t.after(() => removeTempDir(dir))
  for (const url of [
    'redis://127.0.0.1:6379',
    'rediss://u:p@redis.example.com:6380/1',
    'unix:///run/redis/redis.sock',
    'redis+cluster://u:p@h1:7000,h2:7001',
    'rediss+sentinel://:p@h1,h2:26379/master/0?sentinel_password=q',
  ]) {
    const env = { ...BASE, SLUICE_DATA: dir, REDIS_URL: url }
    assert.deepEqual(
      [readConfig(env), readEnvironment(env), readSettings(env)].map(({ redisUrl }) => redisUrl),
      [url, url, url],
    )
  }
  for (const url of [
    'localhost:6379',
    'http://127.0.0.1:6379',
    'unix://run/redis.sock',
    'redis',
    'secret',
    'redis://h1:7000,h2:7001',
    'redis+cluster://h1:7000/1',
    'redis+sentinel://h1:26379',
  ]) {
    const env = { ...BASE, SLUICE_DATA: dir, REDIS_URL: url }
    for (const read of [readConfig, readEnvironment, readSettings]) {
      assert.throws(
        () => read(env),
        ({ message }: Error) =>
          /^REDIS_URL must be an address such as redis:.* or redis\+cluster:\/\/host1:7000,host2:7000$/.test(message) &&
          !message.includes(`"${url}"`),
        url,
      )
    }
  }
})

const WRONG: [variable: string, value: string, text: RegExp][] = [
  ['PORT', '65536', /^PORT must be a number from 0 to 65535, not "65536"$/],
  ['PORT', '1e3', /^PORT must be a number from 0 to 65535, not "1e3"$/],
  ['PORT', '-1', /^PORT must be a number/],
  ['SLUICE_WORKERS', '0', /^SLUICE_WORKERS must be a number from 1 to 256, not "0"$/],
  ['SLUICE_TRUSTED_PROXIES', '1.5', /^SLUICE_TRUSTED_PROXIES must be a number from 0 to 16, not "1.5"$/],
  ['SLUICE_TRANSPORT', 'curl', /^SLUICE_TRANSPORT must be one of sockets, undici, not "curl"$/],
  ['SLUICE_PUBLIC_URL', 'gateway.example.com', /^SLUICE_PUBLIC_URL must be an http:\/\/ or https:\/\/ address such as/],
  ['SLUICE_PUBLIC_URL', 'https://', /^SLUICE_PUBLIC_URL must be/],
  ['LOG_LEVEL', 'loud', /^LOG_LEVEL must be one of fatal, .*, not "loud"$/],
  ['DATABASE_URL', 'mysql://secret@h/x', /^DATABASE_URL must be an address such as postgres:[^"]*$/],
  ['CHAIN_RPC_URL', 'wss://secret', /^CHAIN_RPC_URL must be an http:\/\/ or https:\/\/ address such as [^"]*$/],
  ['SLUICE_TREASURY_KEY', '0xsecret', /^SLUICE_TREASURY_KEY must be a private key: 0x and 64 hex digits$/],
  ['SLUICE_LOG_KEY', 'PRIVATE+KEY+secret', /^SLUICE_LOG_KEY must be a key such as `log key gateway/],
  [
    'SLUICE_CATALOG_KEY',
    '0xsecret',
    /^SLUICE_CATALOG_KEY must be a private key: 0x and 64 hex digits, as `catalog key`/,
  ],
  ['SLUICE_LOG_WITNESSES', 'w+0a0b0c0d+x', /^SLUICE_LOG_WITNESSES must be verifier keys of at most 16 witnesses/],
  ['SLUICE_RELAYER_KEYS', `0x${'1'.repeat(64)},secret`, /^SLUICE_RELAYER_KEYS must be a private key, or several/],
]
for (const [name, value, text] of WRONG) {
  test(`rejected, without the secret in the error: ${name}=${value}`, () => {
    assert.throws(
      () => readVariables({ [name]: value }, 'make run'),
      ({ message }: Error) => text.test(message) && !message.includes('secret'),
    )
  })
}

test('a program reports a required variable that is not set, and all invalid variables together', () => {
  const lines = (program: Program, env: NodeJS.ProcessEnv): string[] => {
    try {
      readVariables(env, program)
      return []
    } catch (error) {
      return String((error as Error).message).split('\n')
    }
  }
  assert.deepEqual(lines('command line', {}), [])
  assert.deepEqual(lines('make run', {}), [])
  assert.match(lines('proxy', {}).join(), /^SLUICE_BUS_KEY is not set: it must be 64 hex digits.*openssl rand -hex 32/)
  assert.equal(lines('control', { SLUICE_CONTROL_METRICS_PORT: 'x', DATABASE_URL: '' }).length, 4)
  assert.deepEqual(lines('control', { ...BASE, PORT: 'of another program' }), [])
})

test('unset and empty variables have the defaults of the schema', () => {
  const empty = Object.fromEntries(variableNames('make run').map((name) => [name, '']))
  assert.deepEqual(readVariables(empty, 'make run'), readVariables({}, 'make run'))
  assert.deepEqual(readVariables({}, 'make run'), {
    HOST: '127.0.0.1',
    PORT: 8080,
    SLUICE_ATTESTATION_SECONDS: 86_400,
    SLUICE_ARCHIVE: 'archive',
    SLUICE_RECEIPTS_MONTHS: 0,
    SLUICE_EXPORT_FORM: 'csv',
    AWS_REGION: 'us-east-1',
    SLUICE_WORKERS: 1,
    SLUICE_TRANSPORT: 'sockets',
    SLUICE_TRUSTED_PROXIES: 0,
    SLUICE_DATA: '.sluice',
    SLUICE_JOURNAL_MEMORY: '/dev/shm',
    SLUICE_METRICS_HOST: '127.0.0.1',
    SLUICE_METRICS_PORT: 0,
    SLUICE_CONTROL_METRICS_PORT: 0,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'false',
    OTEL_TRACES_SAMPLER: 'parentbased_always_on',
    OTEL_TRACES_SAMPLER_ARG: '1',
    OTEL_BSP_MAX_QUEUE_SIZE: 2_048,
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 512,
    OTEL_BSP_SCHEDULE_DELAY: 5_000,
    LOG_LEVEL: 'info',
  })
})

test('each secret variable may be in a file instead', (t) => {
  const dir = makeTempDir('secrets')
  t.after(() => removeTempDir(dir))
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text)
    return join(dir, name)
  }
  const env = {
    DATABASE_URL_FILE: file('database', 'postgres://u:secret@127.0.0.1/x\n'),
    REDIS_URL: 'redis://127.0.0.1',
    SLUICE_BUS_KEY_FILE: file('bus', `${BUS_KEY}\n`),
    SLUICE_METRICS_TOKEN: '',
    SLUICE_METRICS_TOKEN_FILE: file('token', 't'.repeat(32)),
  }
  const read = readVariables(env, 'control')
  assert.equal(read.DATABASE_URL, 'postgres://u:secret@127.0.0.1/x')
  assert.deepEqual([read.SLUICE_BUS_KEY, read.SLUICE_METRICS_TOKEN], [BUS_KEY, 't'.repeat(32)])
  assert.deepEqual(unknownVariables(env), [])
  for (const name of secretNames('make run')) assert.deepEqual(unknownVariables({ [`${name}_FILE`]: dir }), [], name)
  assert.equal(unknownVariables({ SLUICE_DATA_FILE: dir }).length, 1)

  const handedOn: NodeJS.ProcessEnv = { ...env }
  takeSecretFiles(handedOn, secretNames('make run'))
  assert.deepEqual(readVariables(handedOn, 'control'), read)
  assert.deepEqual(
    Object.keys(handedOn).filter((name) => name.endsWith('_FILE')),
    [],
  )
})

test('a secret in a file that cannot be used is refused by its variable, without the secret', (t) => {
  const dir = makeTempDir('secrets')
  t.after(() => removeTempDir(dir))
  const path = join(dir, 'secret')
  const refused = (text: string | undefined, more: NodeJS.ProcessEnv, says: RegExp): void => {
    rmSync(path, { force: true })
    if (text !== undefined) writeFileSync(path, text)
    const read = () => readVariables({ ...BASE, SLUICE_BUS_KEY: '', SLUICE_BUS_KEY_FILE: path, ...more }, 'control')
    assert.throws(read, ({ message }: Error) => says.test(message) && !message.includes(text?.trim() || 'secret-text'))
  }
  refused(undefined, {}, /^SLUICE_BUS_KEY_FILE names a file that cannot be used: .*secret: ENOENT$/)
  refused('\n', {}, /: empty$/)
  refused('two words', {}, /: not a key on one line$/)
  refused('x'.repeat(100_000), {}, /: too long$/)
  refused('0a', {}, /^SLUICE_BUS_KEY must be 64 hex digits/)
  refused(BUS_KEY, { SLUICE_BUS_KEY: BUS_KEY }, /^SLUICE_BUS_KEY and SLUICE_BUS_KEY_FILE are both set/)
  refused('secret-text', { SLUICE_BUS_KEY_FILE: dir }, /: not a file$/)
})

test('a mistyped variable is reported with the intended one; others are ignored', () => {
  const told = unknownVariables({
    SLUICE_WORKER: '4',
    SLUICE_TREASURY_KEYS: 'secret',
    SLUICE_NOTHING_OF_THE_KIND: '1',
    SLUICE_ACME_API_KEY: 'named by the catalog',
    SLUICE_TEST_DIR: '/tmp',
    SLUICE_DATA: '.sluice',
    PATH: '/bin',
  })
  assert.deepEqual(told, [
    'SLUICE_WORKER is set but not known; did you mean SLUICE_WORKERS?',
    'SLUICE_TREASURY_KEYS is set but not known; did you mean SLUICE_TREASURY_KEY?',
    'SLUICE_NOTHING_OF_THE_KIND is set but not known; docs/reference/configuration.md lists every variable',
  ])
})
