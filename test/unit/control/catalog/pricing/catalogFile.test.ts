import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { projectRoot } from '../../../../../control/launch/paths.ts'
import { problemsOf } from '../../../../support/catalogProblems.ts'

const LINES = [
  'coin: { usd: "1" }',
  'providers:',
  '  - { id: acme, base_url: "http://127.0.0.1:9100/v1/", dialect: openai, api_key_env: ACME_API_KEY, data_policy: none }',
  'models:',
  '  - id: acme/chat-small',
  '    name: Chat Small',
  '    owned_by: acme',
  '    modality: chat',
  '    endpoints: [chat, completions]',
  '    context: 128000',
  '    max_output: 16384',
  '    price: { input: "0.15", output: "0.60", cached_input: "0.075" }',
  '    routes: [ { provider: acme, model: chat-small, enabled: true } ]',
]

/** The file with one line replaced (numbers start at 1). */
function withLine(line: number, text: string): string {
  return LINES.with(line - 1, text).join('\n')
}

test('a catalog as documented is read exactly', () => {
  const catalog = parseCatalog('catalog.yaml', LINES.join('\n'))
  assert.equal(catalog.coinUsdUnits, 1_000_000_000)
  assert.equal(catalog.providers[0]?.baseUrl, 'http://127.0.0.1:9100/v1')
  const [model] = catalog.models
  assert.deepEqual(
    [...(model?.price.amounts ?? [])],
    [
      ['input', 150_000_000],
      ['output', 600_000_000],
      ['cached_input', 75_000_000],
    ],
  )
  assert.equal(model?.defaultOutput, 16_384)
  assert.equal(model?.imageTokens, 1_500)
  assert.equal(model?.verified, true)
})

test('the hold for PDFs is never above the context, and is the context where no pages are stated', () => {
  const pdfTokensOf = (members: string) => parseCatalog('c', `${LINES.join('\n')}\n${members}`).models[0]?.pdfTokens
  const { context = 0 } = parseCatalog('c', LINES.join('\n')).models[0] ?? {}
  assert.ok(context > 10_000)
  assert.equal(pdfTokensOf(''), 0)
  assert.equal(pdfTokensOf('    pdf_page_tokens: 5000'), context)
  assert.equal(pdfTokensOf('    pdf_page_tokens: 5000\n    pdf_pages: 2'), 10_000)
  assert.equal(pdfTokensOf('    pdf_page_tokens: 5000\n    pdf_pages: 100000'), context)
  assert.throws(() => pdfTokensOf('    pdf_pages: 2'), /needs pdf_page_tokens/)
})

const amountsOf = (text: string) => Object.fromEntries(parseCatalog('c', text).models[0]?.price.amounts ?? [])

test('a class without its own batch rate is charged the lower of its standard rate and batch input', () => {
  const own = '{ input: "2", output: "8", cached_input: "0.5", cache_write_1h: "3", batch_input: "1", batch_output: "4"'
  assert.equal(amountsOf(price(`${own} }`))['batch_cached_input'], 500_000_000)
  assert.equal(amountsOf(price(`${own} }`))['batch_cache_write_1h'], undefined, 'a batch input is less')
  assert.equal(amountsOf(price(`${own}, batch_cached_input: "0.1" }`))['batch_cached_input'], 100_000_000)
  const long = `${own}, long_context: { threshold: 9, input: "4", output: "8", cached_input: "0.7", batch_input: "2", batch_output: "4" } }`
  const amounts = parseCatalog('c', price(long)).models[0]?.price.longContext?.amounts
  assert.equal(amounts?.get('batch_cached_input'), 700_000_000)
})

test('the catalog shipped with the project is valid', () => {
  const text = readFileSync(join(projectRoot, 'catalog.yaml'), 'utf8')
  assert.ok(parseCatalog('catalog.yaml', text).models.length > 0)
})

const price = (body: string) => withLine(12, `    price: ${body}`)

const CASES: ReadonlyArray<[name: string, text: string, problem: RegExp]> = [
  [
    'a price as a number',
    price('{ input: 0.15, output: "0.60" }'),
    /^catalog\.yaml:12: models\[0\]\.price\.input must be a decimal string of USD such as "0\.15"/,
  ],
  ['too many digits', price('{ input: "0.0000000001", output: "1" }'), /^catalog\.yaml:12: models\[0\]\.price\.input/],
  ['a negative price', price('{ input: "-1", output: "1" }'), /price\.input must be a decimal string/],
  ['no output price', price('{ input: "1" }'), /^catalog\.yaml:12: models\[0\]\.price\.output is missing/],
  ['an unknown price key', price('{ input: "1", output: "1", cached: "1" }'), /price\.cached is not a known key/],
  ['a price of another modality', price('{ input: "1", output: "1", image: "1" }'), /price\.image is not a known key/],
  [
    'a batch rate above the standard one',
    price('{ input: "1", output: "2", batch_input: "1.1", batch_output: "1" }'),
    /^catalog\.yaml:12: models\[0\]\.price\.batch_input must not be above the standard rate, which is 1$/,
  ],
  [
    'a batch rate above the standard one of a class that falls back to input',
    price('{ input: "1", output: "2", batch_input: "1", batch_output: "2", batch_cached_input: "1.5" }'),
    /price\.batch_cached_input must not be above the standard rate, which is 1$/,
  ],
  [
    'a batch rate for long prompts above the standard one',
    price(
      '{ input: "1", output: "2", long_context: { threshold: 9, input: "2", output: "4", batch_input: "1", batch_output: "5" } }',
    ),
    /price\.long_context\.batch_output must not be above the standard rate, which is 4$/,
  ],
  [
    'batch rates that are above those of long prompts',
    price(
      '{ input: "2", output: "2", batch_input: "1", batch_output: "1", long_context: { threshold: 9, input: "0.5", output: "2" } }',
    ),
    /price\.long_context needs its own batch rates: for long prompts, input 0\.5 is below the batch rate 1$/,
  ],
  [
    'a private price without attested hardware',
    withLine(13, `    price_private: { input: "2", output: "3" }\n${LINES[12]}`),
    /^catalog\.yaml:13: models\[0\]\.price_private is for models that run on attested hardware; they say attested: true$/,
  ],
  [
    'a rate lock of no kind',
    withLine(1, 'coin: { usd: "1" }\nrate_lock: { renew: 1 }'),
    /rate_lock\.renew must be true/,
  ],
  ['half a batch price', price('{ input: "1", output: "1", batch_input: "1" }'), /no batch_output/],
  [
    'long context without threshold',
    price('{ input: "1", output: "1", long_context: { input: "2", output: "2" } }'),
    /price\.long_context\.threshold is missing/,
  ],
  [
    'an unknown key',
    withLine(6, '    nam: Chat Small'),
    /^catalog\.yaml:6: models\[0\]\.nam is not a known key; known/,
  ],
  ['an id with a comma', withLine(5, '  - id: "acme,chat"'), /^catalog\.yaml:5: models\[0\]\.id must be an id/],
  ['an id with a colon', withLine(5, '  - id: "acme:batch"'), /models\[0\]\.id must be an id/],
  ['an id with a pipe', withLine(5, '  - id: "acme|x"'), /models\[0\]\.id must be an id/],
  ['a number as id', withLine(5, '  - id: 12'), /models\[0\]\.id must be an id/],
  ['a missing id', withLine(5, '  -'), /models\[0\]\.id is missing/],
  [
    'an unknown provider',
    withLine(13, '    routes: [ { provider: acne } ]'),
    /^catalog\.yaml:13: .*unknown provider "acne"/,
  ],
  ['no route', withLine(13, '    routes: []'), /routes must name at least one route/],
  ['routes as a map', withLine(13, '    routes: { provider: acme }'), /routes must be a list/],
  ['an endpoint of no kind', withLine(9, '    endpoints: [chats]'), /endpoints\[0\] must be one of: chat,/],
  ['an endpoint of another modality', withLine(9, '    endpoints: [images]'), /is not served by chat models/],
  [
    'completions without a provider for it',
    LINES.with(2, provider('"http://x"').replace('openai', 'anthropic'))
      .with(8, '    endpoints: [chat, completions]')
      .join('\n'),
    /^catalog\.yaml:9: models\[0\]\.endpoints names completions, which only/,
  ],
  ['a repeated endpoint', withLine(9, '    endpoints: [chat, chat]'), /endpoints\[1\] repeats chat/],
  ['a modality of no kind', withLine(8, '    modality: text'), /modality must be one of: chat/],
  ['a context of zero', withLine(10, '    context: 0'), /^catalog\.yaml:10: models\[0\]\.context must be a positive/],
  ['a context as text', withLine(10, '    context: "128000"'), /context must be a positive whole number/],
  [
    'more output than context',
    withLine(11, '    max_output: 128001'),
    /^catalog\.yaml:11: .* must not be above context/,
  ],
  ['a name over two lines', withLine(6, '    name: "a\\nb"'), /name must be a text/],
  [
    'an address of another scheme',
    withLine(3, provider('"ftp://x"')),
    /^catalog\.yaml:3: providers\[0\]\.base_url must be an http/,
  ],
  ['an address with a password', withLine(3, provider('"http://a:b@x"')), /base_url must be an http/],
  ['a key in place of its variable', withLine(3, provider('"http://x"', 'sk-123')), /api_key_env must be the name/],
  ['no coin', withLine(1, '# nothing'), /^catalog\.yaml:\d+: coin is missing/],
  ['a coin that is worth nothing', withLine(1, 'coin: { usd: "0" }'), /coin\.usd must be from 0\.001 to 100000/],
  [
    'a coin that is worth too little',
    withLine(1, 'coin: { usd: "0.0009" }'),
    /coin\.usd must be from 0\.001 to 100000/,
  ],
  ['a coin that is worth too much', withLine(1, 'coin: { usd: "100001" }'), /coin\.usd must be from 0\.001 to 100000/],
  ['a repeated model', [...LINES, ...LINES.slice(4)].join('\n'), /^catalog\.yaml:14: models\[1\] repeats the id/],
  ['a repeated key', [...LINES, 'coin: { usd: "2" }'].join('\n'), /^catalog\.yaml:14: Map keys must be unique/],
  ['text that is not YAML', withLine(8, '    modality: [chat'), /^catalog\.yaml:\d+: /],
  ['an empty file', '', /^catalog\.yaml:1: the catalog must be a map/],
]

function provider(address: string, variable = 'ACME_API_KEY'): string {
  return `  - { id: acme, base_url: ${address}, dialect: openai, api_key_env: ${variable}, data_policy: none }`
}

for (const [name, text, problem] of CASES) {
  test(`rejected with line and reason: ${name}`, () => {
    assert.match(problemsOf(text).join('\n'), new RegExp(problem.source, 'm'))
  })
}

test('all problems of a file are reported together', () => {
  const text = LINES.with(9, '    context: -1').with(7, '    modality: none').join('\n')
  assert.equal(problemsOf(text).length >= 2, true)
})

test('aliases are followed', () => {
  const text = [
    ...LINES.with(11, '    price: &p { input: "0.15", output: "0.60" }'),
    ...LINES.slice(4).with(0, '  - id: acme/two').with(7, '    price: *p'),
  ].join('\n')
  const catalog = parseCatalog('catalog.yaml', text)
  assert.equal(catalog.models[1]?.price.amounts.get('output'), 600_000_000)
})

test('problems are reported in the order of their lines', () => {
  const text = LINES.with(0, 'coin: { usd: "0" }')
    .with(10, '    max_output: 999999')
    .with(12, '    routes: [ { provider: nobody } ]')
    .join('\n')
  const lines = problemsOf(text).map((problem) => Number(problem.split(':')[1]))
  assert.deepEqual(lines, [1, 11, 13])
})
