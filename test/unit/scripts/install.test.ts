import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { projectRoot } from '../../../control/launch/paths.ts'
import { httpServerFor } from '../../../proxy/server/httpServer.mjs'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const SCRIPTS = ['node-version.mjs', 'install.mjs', 'native-code.mjs', 'native-code.json'].map(
  (name) => `scripts/${name}`,
)
const FILES = ['Makefile', 'package.json', 'package-lock.json', 'proxy/server/httpServer.mjs', ...SCRIPTS]
const PACKAGE = httpServerFor(process.versions.node).name
const HOUR_MS = 3_600_000

/** Installs a package in place of the HTTP server's that loads only where FAKE_FAULT was not set, and counts its runs. */
const FAKE_NPM = `#!/bin/sh
set -eu
rm -rf node_modules && mkdir -p node_modules/${PACKAGE}
if [ -n "$FAKE_FAULT" ]; then echo "throw new Error('$FAKE_FAULT')" > node_modules/${PACKAGE}/index.js
else echo '' > node_modules/${PACKAGE}/index.js; fi
echo '{"packages":{"node_modules/secp256k1":{"version":"5.0.2"}}}' > node_modules/.package-lock.json
mkdir -p node_modules/secp256k1/prebuilds/linux-x64
if [ -n "$FAKE_NATIVE" ]; then cp "$FAKE_NATIVE" node_modules/secp256k1/prebuilds/linux-x64/secp256k1.glibc.node; fi
echo "$@" >> npm-runs
`

/** A folder with what `make install` reads, and npm replaced. */
class Checkout {
  readonly dir = makeTempDir('install')

  constructor() {
    for (const file of FILES) cpSync(join(projectRoot, file), join(this.dir, file))
    mkdirSync(join(this.dir, 'bin'))
    writeFileSync(join(this.dir, 'bin/npm'), FAKE_NPM)
    chmodSync(join(this.dir, 'bin/npm'), 0o755)
  }

  /**
   * @param fault what the package that this run of npm installs throws when it is loaded
   * @param native a file that it installs as the native code of another package
   */
  make({ fault = '', native = '' } = {}): { readonly status: number | null; readonly stderr: string } {
    const path = [join(this.dir, 'bin'), dirname(process.execPath), process.env['PATH']].join(':')
    const env = { ...process.env, PATH: path, FAKE_FAULT: fault, FAKE_NATIVE: native, MAKEFLAGS: '', MAKELEVEL: '' }
    return spawnSync('make', ['install'], { cwd: this.dir, env, encoding: 'utf8' })
  }

  /** How often npm ran. */
  get runs(): number {
    const file = join(this.dir, 'npm-runs')
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
  }

  /** As if the package had been installed by another version of Node.js. */
  spoil(): void {
    writeFileSync(join(this.dir, `node_modules/${PACKAGE}/index.js`), `throw new Error('no native code')`)
  }

  touchLock(): void {
    const time = new Date(Date.now() + HOUR_MS)
    utimesSync(join(this.dir, 'package-lock.json'), time, time)
  }
}

function newCheckout(t: TestContext): Checkout {
  const checkout = new Checkout()
  t.after(() => removeTempDir(checkout.dir))
  return checkout
}

test('make installs once, and again after a change of the lock file', (t) => {
  const checkout = newCheckout(t)
  const statuses = [checkout.make().status, checkout.make().status]
  assert.deepEqual(statuses, [0, 0])
  assert.equal(checkout.runs, 1)
  checkout.touchLock()
  assert.equal(checkout.make().status, 0)
  assert.equal(checkout.runs, 2)
})

test('make reinstalls packages that another Node.js installed', (t) => {
  const checkout = newCheckout(t)
  assert.equal(checkout.make().status, 0)
  checkout.spoil()
  assert.equal(checkout.make().status, 0)
  assert.equal(checkout.runs, 2)
  assert.equal(checkout.make().status, 0)
  assert.equal(checkout.runs, 2)
})

test('if the packages do not run, make reports the reason and does not start', (t) => {
  const { status, stderr } = newCheckout(t).make({ fault: 'no native code for this machine' })
  assert.notEqual(status, 0)
  assert.match(
    stderr,
    /The package uWebSockets\.js\S* does not load: no native code for this machine\nRun `make install` with this Node\.js/,
  )
})

test('native code with one changed byte is refused, and again until the right one is installed', (t) => {
  const checkout = newCheckout(t)
  const original = join(projectRoot, 'node_modules/secp256k1/prebuilds/linux-x64/secp256k1.glibc.node')
  const changed = join(checkout.dir, 'changed.node')
  const bytes = readFileSync(original)
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
  writeFileSync(changed, bytes)
  for (const runs of [1, 2]) {
    const { status, stderr } = checkout.make({ native: changed })
    assert.notEqual(status, 0)
    assert.match(
      stderr,
      /secp256k1\/prebuilds\/linux-x64\/secp256k1\.glibc\.node is not the file that scripts\/native-code\.json has/,
    )
    assert.equal(checkout.runs, runs)
  }
  assert.equal(checkout.make({ native: original }).status, 0)
  assert.equal(checkout.runs, 3)
})
