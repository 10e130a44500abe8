// Goal: a proxy and a control of two versions refuse what they do not understand of each other, at once and with nothing
// lost. Method: the real client with a control that is this test.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { RPC, type RpcOperation } from '../../../contract/wire/rpc.ts'
import { rpcLanes } from '../../../contract/wire/rpcStreams.ts'
import { RpcClient, UnreadableReply } from '../../../proxy/bus/rpcClient.ts'
import { limits } from '../../support/limits.ts'
import { replyMessage, TEST_BUS_KEY } from '../../support/parts/sealedCalls.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/stack.ts'

const busKeys = [Buffer.from(TEST_BUS_KEY, 'hex')]
let server: TestServer
let redis: Redis
let subscriber: Redis
let client: RpcClient

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  subscriber = connectRedis(server.url, 'wait')
  client = new RpcClient({ commands: redis, subscriber, owner: newId('own'), busKeys, limits })
  await client.start()
})

after(async () => {
  client.stop()
  for (const connection of [redis, subscriber]) connection.disconnect()
  await server.stop()
})

/** The next call of an operation, taken off its stream. */
async function nextCall(operation: RpcOperation): Promise<sluice.RpcRequest> {
  const { stream } = rpcLanes(limits)[RPC[operation].lane]
  await until(`${operation} is called`, async () => (await redis.xlen(stream)) > 0)
  const [entry] = await redis.xrangeBuffer(stream, '-', '+')
  const [id, fields] = entry ?? assert.fail()
  await redis.xdel(stream, id)
  return sluice.RpcRequest.decode(fields[1] ?? assert.fail())
}

test('an unreadable reply fails the call immediately', async () => {
  const calling = client.call('resolve_key', { keyHash: 'one' }, 60_000)
  const refused = assert.rejects(calling, (error) => error instanceof UnreadableReply && error.status === 503)
  const { id, replyTo } = await nextCall('resolve_key')
  await redis.publish(replyTo, replyMessage(replyTo, id, Buffer.from('no record')))
  await refused
})

/** What a call is refused with when this is published as its answer. */
async function refusedBy(answer: (id: number) => sluice.RpcReply.$Properties): Promise<GatewayError> {
  const calling = client.call('get_sheet', { version: 1 }, 60_000).then(
    () => assert.fail('the call went well'),
    (error: unknown) => error,
  )
  const { id, replyTo } = await nextCall('get_sheet')
  await redis.publish(replyTo, Buffer.from(sluice.RpcReply.encode(answer(id)).finish()))
  const error = await calling
  return error instanceof GatewayError ? error : assert.fail(String(error))
}

test('an error from control is returned with all of its fields', async () => {
  const refusal = { row: 'below_minimum', message: 'Raise it.', status: 409, param: 'amount', retryAfterSeconds: 7 }
  const { row, message, status, param, retryAfterSeconds } = await refusedBy((id) => ({ id, refusal }))
  assert.deepEqual({ row, message, status, param, retryAfterSeconds }, refusal)
})

test('an error of the previous version of control is read by its code and message', async () => {
  const errorMessage = 'There is no sheet 1.'
  const before = await refusedBy((id) => ({ id, errorCode: 'sheet_not_found', errorMessage }))
  assert.deepEqual([before.row, before.status, before.message], ['sheet_not_found', 404, errorMessage])
  const unknown = await refusedBy((id) => ({ id, errorCode: 'no_such_row' }))
  assert.deepEqual([unknown.row, unknown.status], ['internal_error', 500])
})

test('a malformed reply message is ignored', async () => {
  const calling = client.call('get_sheet', { version: 1 }, 60_000)
  const { id, replyTo } = await nextCall('get_sheet')
  await redis.publish(replyTo, Buffer.from([0xff, 0xff]))
  await redis.publish(replyTo, replyMessage(replyTo, id, Buffer.from('{}')))
  assert.equal(await calling, '{}')
})
