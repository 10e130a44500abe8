// Goal: the fallbacks of a model get to the proxies as the file says; those that could never serve are refused by their line.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FALLBACK_REASONS } from '../../../../../contract/catalog/fallback.ts'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { decodeCatalog } from '../../../../../proxy/catalog/catalog.ts'
import { recordOf } from '../../../../support/acmeCatalog.ts'
import { problemsOf } from '../../../../support/catalogProblems.ts'
import { present } from '../../../../support/present.ts'
import { testCatalog } from '../../../../support/testCatalog.ts'

const fileOf = (fallbacks: unknown, members: object = {}) =>
  testCatalog('http://127.0.0.1:1/v1', {
    models: [
      { id: 'a', fallbacks, ...members },
      { id: 'b' },
      { id: 'c' },
      {
        id: 'rank',
        modality: 'rerank',
        endpoints: ['rerank'],
        price: { search: '1' },
        context: undefined,
        max_output: undefined,
      },
    ],
  })

test('fallbacks get to the proxies in their order, with every reason unless they name some', () => {
  const record = sluice.CatalogRecord.encode(recordOf(fileOf([{ model: 'c', on: ['rate_limited'] }, { model: 'b' }])))
  const { models } = decodeCatalog(record.finish(), {})
  assert.deepEqual(present(models.get('a')).fallbacks, [
    { modelId: 'c', on: new Set(['rate_limited']) },
    { modelId: 'b', on: new Set(FALLBACK_REASONS) },
  ])
  assert.deepEqual(present(models.get('b')).fallbacks, [])
})

const CASES: [string, string, RegExp][] = [
  ['itself', fileOf([{ model: 'a' }]), /fallbacks\[0\]\.model must be another model/],
  ['a model twice', fileOf([{ model: 'b' }, { model: 'b' }]), /fallbacks\[1\]\.model repeats "b"/],
  ['an unknown model', fileOf([{ model: 'd' }]), /names "d", which is no chat model of the file/],
  ['a model of another modality', fileOf([{ model: 'rank' }]), /names "rank", which is no chat model of the file/],
  [
    'an unknown reason',
    fileOf([{ model: 'b', on: ['always'] }]),
    /on\[0\] must be one of: unavailable, rate_limited, context_length/,
  ],
  ['no reason', fileOf([{ model: 'b', on: [] }]), /on must name reasons/],
  ['more than three', fileOf(['b', 'c', 'd', 'e'].map((model) => ({ model }))), /must be a list of at most 3 models/],
  [
    'a model that is not for chat',
    fileOf([{ model: 'b' }], { modality: 'rerank', endpoints: ['rerank'], price: { search: '1' } }),
    /fallbacks is for chat models alone/,
  ],
]

for (const [what, text, problem] of CASES) {
  test(`a fallback to ${what} is refused`, () => {
    assert.match(problemsOf(text).join('\n'), problem)
  })
}

test('only chat models have their routes chosen by the first token', () => {
  const rank = { modality: 'rerank', endpoints: ['rerank'], price: { search: '1' }, context: undefined }
  const text = testCatalog('http://127.0.0.1:1/v1', {
    models: [{ id: 'rank', ...rank, max_output: undefined, order: 'first_token' }],
  })
  assert.match(problemsOf(text).join('\n'), /order must be weight or price/)
})
