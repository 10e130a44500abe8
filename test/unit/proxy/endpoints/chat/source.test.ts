import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Model } from '../../../../../proxy/catalog/catalog.ts'
import type { ChatCodec } from '../../../../../proxy/dialects/shared/codec.ts'
import { LargeSource } from '../../../../../proxy/endpoints/chat/source.ts'
import type { LargeBody } from '../../../../../proxy/endpoints/largeBodies/largeBodies.ts'
import { testProvider, testRoutes } from '../../../../support/parts/runWorld.ts'

const CODEC = {} as ChatCodec
const modelOf = (id: string): Model => ({ id }) as Model
const anthropic = testRoutes(1).map((route) => ({
  ...route,
  provider: { ...testProvider, id: 'other', dialect: 'anthropic' as const },
}))

test('a large body is written for a model when its turn comes, once for all providers of a form', async () => {
  const written: string[] = []
  const run = async (_task: string, { dialect }: { dialect: string }) => {
    written.push(dialect)
    return { rest: `for ${dialect}` }
  }
  const source = new LargeSource({ run } as unknown as LargeBody, 'chat')
  const [first, next] = [modelOf('first'), modelOf('next')]
  await source.prepare({ model: first, routes: [...testRoutes(3), ...anthropic] })
  assert.deepEqual(written, ['openai', 'anthropic'])
  assert.equal(source.print(testProvider, CODEC, first).rest, 'for openai')
  assert.throws(() => source.print(testProvider, CODEC, next), /was not written/)
  assert.equal(source.prepare({ model: first, routes: anthropic }), undefined)
  await source.prepare({ model: next, routes: testRoutes(1) })
  assert.deepEqual(written, ['openai', 'anthropic', 'openai'])
  assert.equal(source.print(testProvider, CODEC, next).rest, 'for openai')
})
