// Goal: a Redis that is reached by a Unix domain socket serves like one that is reached by its port. Method: a whole stack on
// such a socket, whose Redis is killed and comes back.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const REQUEST = { model: 'test/small', max_tokens: 50 }

let stack: Stack

before(async () => {
  stack = await startStack({ redisSocket: true, workers: 2 })
})
after(() => stack.finish())

test('requests are held, charged and booked over the socket, also after Redis was killed', async () => {
  assert.match(stack.redis.url, /^unix:\/\/\/.*redis\.sock$/)
  const { apiKey } = await stack.createAccount()
  completion(await chat(stack.baseUrl, apiKey, REQUEST))
  await stack.redis.kill9()
  // The lease of the key rests, and is used up first.
  await until('nothing can be held', async () => (await chat(stack.baseUrl, apiKey, REQUEST)).status === 503)
  await stack.redis.restart()
  await until('requests are served', async () => (await chat(stack.baseUrl, apiKey, REQUEST)).status === 200)
  await stack.settled()
  await stack.audit()
})
