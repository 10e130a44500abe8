import assert from 'node:assert/strict'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../../control/launch/paths.ts'

interface NativeCode {
  readonly RECORD: readonly { readonly package: string; readonly version: string; readonly file: string }[]
  nativeFiles(folder: string): string[]
}

interface Locked {
  readonly version: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly resolved?: string
}

const MEBIBYTE = 1_048_576
/** The most bytes of the packages of a production installation. viem takes the most, the tokenizer's tables are next. */
const SIZE_MAX_BYTES = 120 * MEBIBYTE
/** Packages for one platform each are named by what they have in common. */
const PLATFORMS = /^(@uwsjs|@napi-rs)\/.+$/
const PRODUCTION = `
@adraffy/ens-normalize @ioredis/commands @modelcontextprotocol/core @modelcontextprotocol/server @napi-rs @noble/ciphers @noble/curves
@noble/hashes @pinojs/redact @scure/base @scure/bip32 @scure/bip39 @uwsjs abitype ajv atomic-sleep aws4fetch bn.js brorand cluster-key-slot
commander debug denque elliptic eventemitter3 fast-deep-equal fast-uri gpt-tokenizer hash.js hmac-drbg inherits ioredis isows
json-schema-traverse long minimalistic-assert minimalistic-crypto-utils ms node-addon-api node-gyp-build on-exit-leak-free ox pg
pg-cloudflare pg-connection-string pg-int8 pg-pool pg-protocol pg-types pgpass pino pino-abstract-transport pino-std-serializers piscina
postgres-array postgres-bytea postgres-date postgres-interval process-warning protobufjs quick-format-unescaped real-require redis-errors
require-from-string safe-stable-stringify secp256k1 sonic-boom split2 standard-as-callback thread-stream uWebSockets.js
uWebSockets.js-24 undici viem ws xtend yaml zod`
  .trim()
  .split(/\s+/)

const lock: Readonly<Record<string, Locked>> = JSON.parse(
  readFileSync(join(projectRoot, 'package-lock.json'), 'utf8'),
).packages
const nativeCode: NativeCode = await import(pathToFileURL(join(projectRoot, 'scripts/native-code.mjs')).href)
/** The packages that `npm ci --omit=dev` installs; it leaves out packages that are both for development and optional only with both omitted. */
const production = Object.entries(lock).filter(([path, { dev }]) => path !== '' && dev !== true)

function nameOf(path: string): string {
  return path.split('node_modules/').at(-1) ?? path
}

function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries
    .filter(({ name }) => name !== 'node_modules')
    .map((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? sizeOf(path) : lstatSync(path).size
    })
    .reduce((sum, bytes) => sum + bytes, 0)
}

function isInstalled(path: string): boolean {
  return lstatSync(join(projectRoot, path), { throwIfNoEntry: false }) !== undefined
}

test('a production installation has the packages that are named here, and none of development', () => {
  const names = production.map(([path]) => nameOf(path).replace(PLATFORMS, '$1'))
  assert.deepEqual([...new Set(names)].sort(), [...PRODUCTION].sort())
})

test('no package is installed from anywhere but the registry', () => {
  for (const folder of ['.', 'test/nodes', 'test/nodes/22', 'test/nodes/24']) {
    const text = readFileSync(join(projectRoot, folder, 'package-lock.json'), 'utf8')
    const packages: Readonly<Record<string, Locked>> = JSON.parse(text).packages
    for (const [path, { resolved }] of Object.entries(packages)) {
      assert(resolved === undefined || resolved.startsWith('https://registry.npmjs.org/'), `${folder}: ${path}`)
    }
  }
})

test('a production installation stays small', (t) => {
  const sizes = production.filter(([path]) => isInstalled(path)).map(([path]) => sizeOf(join(projectRoot, path)))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  t.diagnostic(`${Math.ceil(bytes / MEBIBYTE)} MiB in ${sizes.length} packages`)
  assert(sizes.length > 60, 'the packages are not installed')
  assert(bytes <= SIZE_MAX_BYTES, `${bytes} bytes`)
})

test('all native code of a production installation on Linux with x64 is on record', () => {
  const recorded = nativeCode.RECORD.map((row) => `${row.package}@${row.version}/${row.file}`)
  const native = production
    .filter(([path]) => isInstalled(path))
    .flatMap(([path, { version }]) =>
      nativeCode.nativeFiles(join(projectRoot, path)).map((file) => `${nameOf(path)}@${version}/${file}`),
    )
    .filter((file) => !file.includes('win32') && !file.includes('/build/'))
  if (process.platform === 'linux' && process.arch === 'x64') assert(native.length >= 4, native.join(' '))
  if (process.platform === 'linux' && process.arch === 'x64') {
    assert.deepEqual(
      native.filter((file) => !recorded.includes(file)),
      [],
    )
  }
})
