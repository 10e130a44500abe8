// Goal: a proxy knows whether it hears of all changes of keys, since it reads no key again while it does. Method: the real reader
// on a Redis that is killed, comes back with its data, and is emptied.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { FEED_STREAM } from '../../../contract/wire/redisKeys.ts'
import { publishKeyChanged } from '../../../control/runtime/bus/feed.ts'
import { FeedReader } from '../../../proxy/bus/feedReader.ts'
import { limits } from '../../support/limits.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/until.ts'

let server: TestServer
let writer: Redis
let feed: FeedReader
let gaps = 0
const changed: string[] = []

before(async () => {
  server = await startTestRedis()
  writer = connectRedis(server.url, 'wait')
  const redis = connectRedis(server.url, 'wait')
  for (const connection of [writer, redis]) connection.on('error', () => {})
  const nothing = () => undefined
  const listener = {
    onKeyChanged: (keyHash: string) => void changed.push(keyHash),
    onCatalogPublished: nothing,
    onStatusChanged: nothing,
    onGap: () => void gaps++,
  }
  feed = new FeedReader(redis, listener, nothing)
})
after(async () => {
  await feed.stop()
  writer.disconnect()
  await server.stop()
})

test('the feed is followed from its start on, and events arrive', async () => {
  assert.equal(feed.isFollowed, false)
  await feed.start()
  assert.equal(feed.isFollowed, true)
  await publishKeyChanged(writer, 'one', limits)
  await until('the event arrives', () => changed.includes('one'))
  assert.equal(feed.isFollowed, true)
})

test('a reader that is overtaken by the trimming of the feed reports a gap, also without a lost connection', async () => {
  const before = gaps
  const event = Buffer.from(sluice.FeedEvent.encode({ keyChanged: 'many' }).finish())
  const script = `for _ = 1, 2000 do redis.call('XADD', KEYS[1], 'MAXLEN', 600, '*', 'e', ARGV[1]) end`
  await writer.eval(script, 1, FEED_STREAM, event)
  await until('the gap is reported', () => gaps > before)
  await publishKeyChanged(writer, 'after the gap', limits)
  await until('the event arrives', () => changed.includes('after the gap'))
  assert.equal(gaps, before + 1)
})

test('a reader that is behind without losing anything reports no gap', async () => {
  const before = gaps
  const event = Buffer.from(sluice.FeedEvent.encode({ keyChanged: 'more' }).finish())
  await writer.eval(`for _ = 1, 2000 do redis.call('XADD', KEYS[1], '*', 'e', ARGV[1]) end`, 1, FEED_STREAM, event)
  await until('the events arrive', () => changed.filter((keyHash) => keyHash === 'more').length === 2_000)
  assert.equal(gaps, before)
})

test('it is not followed without Redis, nor before a gap was looked for once Redis is back', async () => {
  await server.kill9()
  await until('the loss is noticed', () => !feed.isFollowed)
  await server.restart()
  await publishKeyChanged(writer, 'two', limits)
  await until('it is followed again', () => feed.isFollowed)
  // Another start of the server may lack events.
  assert.ok(gaps > 0)
})
