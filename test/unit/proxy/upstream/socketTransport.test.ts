import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { SocketTransport } from '../../../../proxy/upstream/socketTransport.ts'
import { HeaderBlock } from '../../../../proxy/upstream/transport/headerBlock.ts'
import type { TransportFailure } from '../../../../proxy/upstream/transport/transport.ts'
import { limits } from '../../../support/limits.ts'

test('the deadlines of a request are checked from its beginning on, however long there was none before', async (t) => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  const transport = new SocketTransport(limits)
  t.after(async () => {
    await transport.close()
    server.close()
  })
  for (const idleMs of [0, 10, 2_000, 5_400]) {
    for (let at = 0; at < idleMs; at++) t.mock.timers.tick(1)
    const failures: TransportFailure[] = []
    transport.send(
      {
        origin: `http://127.0.0.1:${port}`,
        host: `127.0.0.1:${port}`,
        path: '/',
        method: 'GET',
        headers: new HeaderBlock([]),
        requestId: 'req_test',
        body: null,
        fresh: true,
        connectTimeoutMs: 0,
        firstByteTimeoutMs: 0,
        idleTimeoutMs: 0,
        totalTimeoutMs: 60_000,
      },
      {
        onHead: () => assert.fail(),
        onData: () => assert.fail(),
        onEnd: () => assert.fail(),
        onFailure: (failure) => failures.push(failure),
      },
    )
    for (let at = 0; at < 50; at++) t.mock.timers.tick(1)
    assert.deepEqual(
      failures.map(({ kind }) => kind),
      ['connect_timeout'],
      `after ${idleMs} ms`,
    )
  }
})
