// Goal: a secret store replaces a key under the proxy in any of the ways that such stores have, and the proxy has the new one
// soon, or at once when the old one is refused. Method: files, links and folders that are replaced.
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { KeySecrets } from '../../../../proxy/catalog/keySecrets.ts'
import { limits } from '../../../support/limits.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

const dir = makeTempDir('secrets')
after(() => removeTempDir(dir))

/** A mounted secret of Kubernetes: the file is a link into ..data, a link to a folder of the version. */
function mount(name: string, secret: string): string {
  const root = join(dir, name)
  mkdirSync(join(root, 'v1'), { recursive: true })
  writeFileSync(join(root, 'v1', 'key'), secret)
  symlinkSync('v1', join(root, '..data'))
  symlinkSync(join('..data', 'key'), join(root, 'key'))
  return join(root, 'key')
}

function swap(name: string, secret: string): void {
  const root = join(dir, name)
  mkdirSync(join(root, 'v2'))
  writeFileSync(join(root, 'v2', 'key'), secret)
  symlinkSync('v2', join(root, '..next'))
  renameSync(join(root, '..next'), join(root, '..data'))
  rmSync(join(root, 'v1'), { recursive: true })
}

const WAYS: Record<string, (name: string) => { path: string; replace: () => void }> = {
  'written in place': (name) => {
    const path = join(dir, name)
    writeFileSync(path, 'sk-1')
    return { path, replace: () => writeFileSync(path, 'sk-2') }
  },
  'renamed over the old one': (name) => {
    const path = join(dir, name)
    writeFileSync(path, 'sk-1')
    return {
      path,
      replace: () => {
        writeFileSync(`${path}.new`, 'sk-2')
        renameSync(`${path}.new`, path)
      },
    }
  },
  'behind links of a mounted secret': (name) => {
    const path = mount(name, 'sk-1')
    return { path, replace: () => swap(name, 'sk-2') }
  },
}

for (const [way, begin] of Object.entries(WAYS)) {
  test(`a key ${way} is read again, and a change is told once`, async () => {
    const { path, replace } = begin(way)
    const source = { env: '', file: path }
    const secrets = new KeySecrets({}, limits)
    let changes = 0
    secrets.start(() => changes++)
    assert.equal(secrets.of(source).text, 'sk-1')
    await secrets.check()
    assert.equal(changes, 0, 'the first check finds what was read')
    replace()
    assert.equal(secrets.of(source).text, 'sk-1', 'a request does not read files')
    await secrets.check()
    await secrets.check()
    assert.deepEqual([secrets.of(source).text, changes], ['sk-2', 1])
    secrets.stop()
  })
}

test('a refused secret is read again at once, and the change is told', async () => {
  const path = join(dir, 'refused')
  writeFileSync(path, 'sk-1')
  const secrets = new KeySecrets({}, limits)
  let changes = 0
  secrets.start(() => changes++)
  const source = { env: '', file: path }
  secrets.of(source)
  assert.equal(secrets.again(source).text, 'sk-1')
  writeFileSync(path, 'sk-2')
  assert.equal(secrets.again(source).text, 'sk-2')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(changes, 1)
  secrets.stop()
})

test('a file that goes and comes back turns its key off and on', async () => {
  const path = join(dir, 'gone')
  const source = { env: '', file: path }
  const secrets = new KeySecrets({}, limits)
  assert.deepEqual(secrets.of(source), { text: '', fault: 'ENOENT' })
  writeFileSync(path, 'sk-1')
  await secrets.check()
  assert.equal(secrets.of(source).text, 'sk-1')
  unlinkSync(path)
  await secrets.check()
  assert.equal(secrets.of(source).text, '')
})

test('a file that the catalog names no more is forgotten, and read anew when it is named again', () => {
  const path = join(dir, 'forgotten')
  writeFileSync(path, 'sk-1')
  const source = { env: '', file: path }
  const secrets = new KeySecrets({}, limits)
  secrets.of(source)
  writeFileSync(path, 'sk-2')
  const naming = secrets.reading()
  naming.reads.secret(source)
  naming.forgetOthers()
  assert.equal(secrets.of(source).text, 'sk-1')
  secrets.reading().forgetOthers()
  assert.equal(secrets.of(source).text, 'sk-2')
})
