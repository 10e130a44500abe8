// Goal: the console's files are served from memory, and nothing else of the disk is. Method: a folder with files, and exchanges
// that note their answers.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { consoleHandler } from '../../../../../proxy/endpoints/site/consolePage.ts'
import type { RequestHead } from '../../../../../proxy/server/exchange.ts'
import { RecordedExchange } from '../../../../support/parts/recordedExchange.ts'
import { makeTempDir, removeTempDir } from '../../../../support/tempDir.ts'

const folder = makeTempDir('console')
after(() => removeTempDir(folder))
mkdirSync(join(folder, 'assets'))
writeFileSync(join(folder, 'index.html'), '<p>page</p>')
writeFileSync(join(folder, 'secret.txt'), 'secret')
writeFileSync(join(folder, 'assets/main-Abc_12-8.js'), 'run()')
writeFileSync(join(folder, 'assets/main-Abc_12-8.js.gz'), gzipSync('run()'))
const handler = consoleHandler(folder)
// Requests are answered from memory.
rmSync(join(folder, 'assets/main-Abc_12-8.js'))

class Asked extends RecordedExchange {
  override readonly head: RequestHead
  constructor(path: string, ifNoneMatch: string) {
    super()
    this.head = { path, ifNoneMatch } as RequestHead
  }
}

function ask(path: string, ifNoneMatch = '') {
  const exchange = new Asked(path, ifNoneMatch)
  handler(exchange, Buffer.alloc(0))
  const header = (name: string) => exchange.headers[exchange.headers.indexOf(name) + 1]
  return { exchange, header }
}

test('every path without an ending is the page, under a strict policy', () => {
  for (const path of ['/console', '/console/usage', '/console/requests/req_1']) {
    const { exchange, header } = ask(path)
    assert.deepEqual([exchange.ends, exchange.text], [['200'], '<p>page</p>'])
    assert.match(header('content-security-policy') ?? '', /default-src 'none'/)
    assert.equal(header('cache-control'), 'no-cache')
  }
})

test('a file with a hash in its name is kept for good, compressed, and answered 304 to who has it', () => {
  const { exchange, header } = ask('/console/assets/main-Abc_12-8.js')
  assert.deepEqual(exchange.ends, ['200'])
  assert.match(header('cache-control') ?? '', /immutable/)
  assert.equal(header('content-encoding'), 'gzip')
  assert.deepEqual(ask('/console/assets/main-Abc_12-8.js', `W/${header('etag')}`).exchange.ends, ['304'])
})

test('other files are not served, whatever the path', () => {
  for (const path of ['/console/secret.txt', '/console/../package.json', '/console/assets/none.js']) {
    assert.throws(
      () => ask(path),
      (error: GatewayError) => error instanceof GatewayError && error.status === 404,
    )
  }
})

test('a gateway whose console was left out answers 404', () => {
  assert.throws(() => consoleHandler(join(folder, 'none'))(new Asked('/console', ''), Buffer.alloc(0)), GatewayError)
})
