// Goal: the keys of a provider and the shares of routes get to the proxies as the file says; a file that is ambiguous is refused by
// its line. Method: catalog files, their records, and the proxy's view of these.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_QUOTA } from '../../../../../contract/catalog/quota.ts'
import { listedKeys } from '../../../../../contract/providers/providerKeys.ts'
import { acmeFile, recordOf } from '../../../../support/acmeCatalog.ts'
import { problemsOf } from '../../../../support/catalogProblems.ts'
import { itemOf } from '../../../../support/present.ts'

const providerOf = (text: string) => itemOf(recordOf(text).providers, 0)

test('keys get to the proxies with their defaults, and never a secret', () => {
  const keys =
    '{ id: a, env: A_KEY }, ' + '{ id: b, file: /run/secrets/b, weight: 3, models: [small, large], parallel: 4 }'
  assert.deepEqual(listedKeys(providerOf(acmeFile(`keys: [${keys}]`))), [
    { id: 'a', env: 'A_KEY', file: '', weight: 1, models: [], ...NO_QUOTA },
    { ...NO_QUOTA, id: 'b', env: '', file: '/run/secrets/b', weight: 3, models: ['small', 'large'], parallel: 4 },
  ])
})

test('a provider with api_key_env has the record that it had, and one without takes no key', () => {
  const short = providerOf(acmeFile('api_key_env: A_KEY'))
  assert.deepEqual([short.apiKeyEnv, short.keys], ['A_KEY', []])
  assert.deepEqual(listedKeys(short), [{ id: 'default', env: 'A_KEY', file: '', weight: 1, models: [], ...NO_QUOTA }])
  assert.deepEqual(listedKeys(providerOf(acmeFile('batch: false'))), [])
})

test('a key in the environment with a quota is listed, so that its quota gets to the proxies', () => {
  const quotas = 'requests_per_minute: 60, tokens_per_minute: 9000, parallel: 2'
  const [key] = listedKeys(providerOf(acmeFile(`keys: [{ id: default, env: A, ${quotas} }]`)))
  const quota = { requestsPerMinute: 60, tokensPerMinute: 9_000, parallel: 2 }
  assert.deepEqual(key, { id: 'default', env: 'A', file: '', weight: 1, models: [], ...quota })
})

test('a process that does not know lists of keys has a variable, never a request without a key', () => {
  const variableOf = (keys: string) => providerOf(acmeFile(`keys: [${keys}]`)).apiKeyEnv
  assert.equal(variableOf('{ id: a, file: /a }, { id: b, env: B_KEY }'), 'B_KEY')
  assert.notEqual(variableOf('{ id: a, file: /a }'), '')
})

test('routes have the priority and the weight of the file, and none without', () => {
  const sharesOf = (routes: string) =>
    itemOf(recordOf(acmeFile('api_key_env: A', routes)).models, 0).routes?.map(({ priority, weight }) => [
      priority,
      weight,
    ])
  const shared = '{ provider: acme, priority: 2 }, { provider: acme, model: b, priority: 2, weight: 5 }'
  assert.deepEqual(sharesOf(shared), [
    [2, 1],
    [2, 5],
  ])
  assert.deepEqual(sharesOf('{ provider: acme }'), [[0, 0]])
})

test('the order of the routes of a model gets to the proxies; by weight is the default', () => {
  const orderOf = (order: string) => {
    const text = acmeFile('api_key_env: A').replace('    context:', `    ${order}\n    context:`)
    return itemOf(recordOf(text).models, 0).order
  }
  assert.deepEqual(['', 'order: weight', 'order: price', 'order: first_token'].map(orderOf), [
    '',
    '',
    'price',
    'first_token',
  ])
})

const CASES: [string, string, RegExp][] = [
  [
    'a list beside a variable',
    acmeFile('keys: [{ id: a, env: A }], api_key_env: B'),
    /api_key_env cannot stand beside keys/,
  ],
  ['a key from nowhere', acmeFile('keys: [{ id: a }]'), /^catalog\.yaml:3: providers\[0\]\.keys\[0\] must name either/],
  ['a key from two places', acmeFile('keys: [{ id: a, env: A, file: /a }]'), /keys\[0\] must name either env or file/],
  [
    'a repeated key',
    acmeFile('keys: [{ id: a, env: A }, { id: a, env: B }]'),
    /keys\[1\] repeats the id "a" of keys\[0\]/,
  ],
  ['a secret in place of its variable', acmeFile('keys: [{ id: a, env: sk-123 }]'), /keys\[0\]\.env must be the name/],
  ['a file that depends on a folder', acmeFile('keys: [{ id: a, file: a.key }]'), /file must be an absolute path/],
  ['a key without a share', acmeFile('keys: [{ id: a, env: A, weight: 0 }]'), /keys\[0\]\.weight/],
  ['an empty list', acmeFile('keys: []'), /providers\[0\]\.keys/],
  [
    'a priority of some routes alone',
    acmeFile('api_key_env: A', `{ provider: acme, priority: 1 }, { provider: acme, model: b }`),
    /^catalog\.yaml:12: models\[0\]\.routes\[1\] must have a priority/,
  ],
]

for (const [name, text, problem] of CASES) {
  test(`rejected with its line: ${name}`, () => {
    assert.match(problemsOf(text).join('\n'), new RegExp(problem.source, 'm'))
  })
}
