import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { PrivateServer, type PrivateServerParts } from '../../../../contract/net/privateServer.ts'

const TOKEN = 'a-token-of-an-operator'
const HOST = '127.0.0.1'
const open: PrivateServer[] = []
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())))

async function started(parts: Partial<PrivateServerParts> = {}) {
  const server = new PrivateServer({
    token: '',
    metrics: async () => 'a 1\n',
    hindrances: async () => [],
    ...parts,
  })
  open.push(server)
  const port = await server.listen({ host: HOST, port: 0 })
  return async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(`http://${HOST}:${port}${path}`, { headers, method })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
}

test('metrics are in the text format, and no connection is kept', async () => {
  const get = await started()
  const { status, text, headers } = await get('/metrics?name=x')
  assert.deepEqual([status, text, headers.get('connection')], [200, 'a 1\n', 'close'])
  assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
})

test('with a token, scrapes need it, and probes do not', async () => {
  const get = await started({ token: TOKEN })
  const scraped = async (authorization?: string) =>
    (await get('/metrics', authorization === undefined ? {} : { authorization })).status
  assert.equal(await scraped(`Bearer ${TOKEN}`), 200)
  assert.equal(await scraped(`bearer  ${TOKEN}`), 200)
  for (const wrong of [undefined, '', 'Bearer', 'Bearer ', `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, TOKEN]) {
    assert.equal(await scraped(wrong), 401, String(wrong))
  }
  assert.deepEqual([(await get('/live')).status, (await get('/ready')).status], [200, 200])
})

test('what hinders a program is named', async () => {
  let reasons = ['starting']
  const get = await started({ hindrances: async () => reasons })
  assert.deepEqual([(await get('/ready')).status, (await get('/ready')).text], [503, 'not ready: starting\n'])
  reasons = []
  assert.deepEqual([(await get('/ready')).status, (await get('/ready')).text], [200, 'ready\n'])
  assert.equal((await get('/live')).status, 200)
})

test('other paths are 404, other methods 405, and a read that fails is 500', async () => {
  const failing = () => Promise.reject(new Error('away'))
  const get = await started({ metrics: failing, hindrances: failing })
  const statuses = await Promise.all([
    get('/'),
    get('/v1/models'),
    get('/metrics', {}, 'POST'),
    get('/metrics'),
    get('/ready'),
  ])
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [404, 404, 405, 500, 500],
  )
})
