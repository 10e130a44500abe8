// Goal: pages that a provider of the OpenAI format cites reach clients of responses as annotations of the text, whole and streamed.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { ScriptedProvider } from '../support/providers/scriptedProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { fullCall, OSLO } from '../support/wires/sampleCalls.ts'
import { checkedFetch } from '../support/wires/serialItems.ts'
import { chunk, ending, eventOf, ROLE, streamOf, wholeOf } from '../support/wires/wire.ts'

const cited = (url: unknown, more: object = {}) => ({
  type: 'url_citation',
  url_citation: { url, title: 'A', start_index: 1, end_index: 3, ...more },
})
const want = (url: string, more: object = {}) => ({
  type: 'url_citation',
  url,
  title: 'A',
  start_index: 1,
  end_index: 3,
  ...more,
})
const A = cited('https://a.example/')
const B = cited('https://b.example/')
const BOTH = [want('https://a.example/'), want('https://b.example/')]
const CALLS = { tool_calls: [fullCall(0, 'call_a', OSLO)] }
const many = Array.from({ length: 300 }, (_, at) => cited(`https://a.example/${at}`))

const ROWS: readonly (readonly [name: string, deltas: readonly object[], annotations: readonly object[]])[] = [
  [
    'beside the text',
    [
      { content: 'So', annotations: [A] },
      { content: '.', annotations: [B] },
    ],
    BOTH,
  ],
  ['behind the text', [{ content: 'So.' }, { content: '', annotations: [A, B] }], BOTH],
  ['before the text', [{ annotations: [A, B] }, { content: 'So.' }], BOTH],
  [
    'with every chunk',
    [
      { content: 'So', annotations: [A] },
      { content: '.', annotations: [A, B] },
    ],
    BOTH,
  ],
  ['before a call', [{ content: 'So.' }, { annotations: [A, B] }, CALLS], BOTH],
  ['behind a call', [{ content: 'So.' }, CALLS, { annotations: [A, B] }], BOTH],
  ['behind reasoning', [{ content: 'So.' }, { reasoning_content: 'hm' }, { annotations: [A, B] }], BOTH],
  ['amid reasoning', [{ reasoning_content: 'hm', annotations: [A, B] }, { content: 'So.' }], BOTH],
  [
    'without their members',
    [{ content: 'So.', annotations: [cited('https://a.example/', { title: null, start_index: -1, end_index: '3' })] }],
    [want('https://a.example/', { title: '', start_index: 0, end_index: 0 })],
  ],
  [
    'of other kinds',
    [{ content: 'So.', annotations: [{ type: 'file_citation' }, cited(7), 7, null, { type: 'url_citation' }] }],
    [],
  ],
  ['as no list', [{ content: 'So.', annotations: A }], []],
  ['null', [{ content: 'So.', annotations: null }], []],
  [
    'in numbers beyond the limit',
    [{ content: 'So.', annotations: many }],
    many.slice(0, 256).map(({ url_citation: said }) => want(String(said.url))),
  ],
]

const listed = (name: string, title = '') => want(`https://${name}.example/`, { title, start_index: 0, end_index: 0 })
const PAGES = { citations: ['https://a.example/', 'https://b.example/'] }
const RESULTS = { search_results: [{ title: 'A', url: 'https://a.example/', date: null }] }
/** What Perplexity and others list beside the choices. */
const BESIDE: readonly (readonly [name: string, beside: object, delta: object, annotations: readonly object[]])[] = [
  ['listed by address', PAGES, {}, [listed('a'), listed('b')]],
  ['listed as results', { ...PAGES, ...RESULTS }, {}, [listed('a', 'A'), listed('b')]],
  ['listed beside annotations', PAGES, { annotations: [A] }, [want('https://a.example/'), listed('b')]],
  [
    'listed in numbers beyond the limit',
    { citations: many.map(({ url_citation: said }) => said.url) },
    {},
    [
      ...many.slice(0, 256).map(({ url_citation: said }) => ({
        ...want(String(said.url)),
        title: '',
        start_index: 0,
        end_index: 0,
      })),
    ],
  ],
  ['listed as anything', { citations: [7, null, '', {}], search_results: 'none' }, {}, []],
]

let stack: Stack
let provider: ScriptedProvider
let openai: OpenAI

before(async () => {
  provider = await ScriptedProvider.start({
    wire: (response, body) => {
      const asked = JSON.stringify(body['messages'])
      const place = Number(/listed (\d+)/.exec(asked)?.[1])
      const isStream = body['stream'] === true || asked.includes('as a stream')
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
      if (BESIDE[place] !== undefined) {
        const [, beside, delta] = BESIDE[place]
        const said = chunk({ content: 'So.', ...delta }, null, beside)
        const isLate = asked.includes('late')
        const late = chunk({ content: 'So.', ...delta }) + chunk({}, 'stop') + eventOf({ choices: [], ...beside })
        const stream = ROLE + (isLate ? late : said + said.replace('So.', '')) + ending()
        response.end(isStream ? stream : wholeOf({ role: 'assistant', content: 'So.', ...delta }, 'stop', beside))
        return
      }
      const [, deltas] = ROWS[Number(/row (\d+)/.exec(asked)?.[1])] ?? assert.fail()
      const annotations = deltas.map((delta) => Reflect.get(delta, 'annotations') as unknown)
      const message = {
        role: 'assistant',
        content: 'So.',
        annotations: annotations.findLast((list) => list !== undefined),
      }
      response.end(isStream ? streamOf(deltas) : wholeOf(message))
    },
  })
  stack = await startStack({
    catalog: {
      providers: [{ id: 'wire', base_url: provider.url }],
      models: [{ id: 'test/wire', endpoints: ['responses'], routes: [{ provider: 'wire', model: 'wire' }] }],
    },
  })
  const { apiKey } = await stack.createAccount()
  openai = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0, fetch: checkedFetch })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

function annotationsOf({ output }: OpenAI.Responses.Response): unknown[] {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []))
  return parts.flatMap((part) => (part.type === 'output_text' ? part.annotations : []))
}

for (const [place, [name, deltas, annotations]] of ROWS.entries()) {
  test(`citations ${name}, streamed`, async () => {
    const stream = openai.responses.stream({ model: 'test/wire', input: `row ${place}` })
    const added: unknown[] = []
    stream.on('event', (event) => {
      if (event.type !== 'response.output_text.annotation.added') return
      assert.equal(event.annotation_index, added.length)
      added.push(event.annotation)
    })
    const response = await stream.finalResponse()
    assert.deepEqual(annotationsOf(response), annotations)
    assert.deepEqual(added, annotations)
    assert.equal(response.output_text, 'So.')
  })

  test(`citations ${name}, in one piece that comes as a stream`, async () => {
    const response = await openai.responses.create({ model: 'test/wire', input: `row ${place} as a stream` })
    assert.deepEqual(annotationsOf(response), annotations)
  })

  if (deltas.filter((delta) => 'annotations' in delta).length > 1) continue
  test(`citations ${name}, in one piece`, async () => {
    const response = await openai.responses.create({ model: 'test/wire', input: `row ${place}` })
    assert.deepEqual(annotationsOf(response), annotations)
  })
}

for (const [place, [name, , , annotations]] of BESIDE.entries()) {
  for (const how of ['', ', late', ', as a stream']) {
    test(`pages ${name}${how}`, async () => {
      const input = `listed ${place}${how}`
      const whole = how === ', late' ? null : await openai.responses.create({ model: 'test/wire', input })
      const stream = await openai.responses.stream({ model: 'test/wire', input }).finalResponse()
      for (const response of [stream, ...(whole === null ? [] : [whole])]) {
        assert.deepEqual(annotationsOf(response), annotations)
        assert.equal(response.output_text, 'So.')
      }
    })
  }
}
