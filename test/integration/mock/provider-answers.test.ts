import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { itemOf } from '../../support/present.ts'
import { type Chunk, chunks, events } from '../../support/providers/mockAnswers.ts'
import { ownMock, streamed } from '../../support/providers/ownMock.ts'
import { until } from '../../support/until.ts'

const mock = ownMock()
const { ask, lastServed, served } = mock

test('a flushed stream has the same events, in more pieces', async () => {
  const pieces = async (model: string) => {
    const found: Buffer[] = []
    const response = await ask(model, streamed)
    for await (const part of response.body ?? []) found.push(Buffer.from(part as Uint8Array))
    return found
  }
  const bulk = await pieces('mock,chunks=50')
  const flushed = await pieces('mock,chunks=50,flush')
  const text = (parts: Buffer[]) => Buffer.concat(parts).toString()
  assert.deepEqual(
    chunks(text(flushed)).map(({ choices }) => choices[0]?.delta.content),
    chunks(text(bulk)).map(({ choices }) => choices[0]?.delta.content),
  )
  assert.ok(text(flushed).endsWith('data: [DONE]\n\n'))
  assert.ok(flushed.length > bulk.length, `${flushed.length} pieces, ${bulk.length} in bulk`)
})

describe('streams of the mock provider', () => {
  test('a plain stream has role, content, finish reason, usage and [DONE], and is logged', async () => {
    const text = await (await ask('mock,chunks=5', streamed)).text()
    const all = chunks(text)
    assert.equal(events(text).at(-1), '[DONE]')
    assert.equal(all.length, 8)
    assert.deepEqual(
      all.slice(1, 6).map((chunk) => chunk.choices[0]?.delta.content),
      [' tok0', ' tok1', ' tok2', ' tok3', ' tok4'],
    )
    assert.ok(all.slice(0, 7).every((chunk) => chunk.usage === null))
    assert.equal(all[6]?.choices[0]?.finish_reason, 'stop')
    assert.deepEqual(all[7]?.choices, [])
    assert.deepEqual(all[7]?.usage, { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 })
    const line = lastServed()
    assert.deepEqual(
      [line.outcome, line.frames_sent, line.content_bytes, line.request_id, line.status],
      ['complete', 5, 25, 'req_TEST', 200],
    )
    assert.deepEqual(line.usage, all[7]?.usage)
  })

  test('without include_usage no chunk has usage', async () => {
    const text = await (await ask('mock,chunks=2', { stream: true })).text()
    assert.ok(!text.includes('"usage"'))
    assert.equal(lastServed().usage, null)
  })

  test('max_tokens bounds the content and changes the finish reason', async () => {
    const all = chunks(await (await ask('mock,chunks=50', { ...streamed, max_tokens: 3 })).text())
    assert.equal(all.length, 6)
    assert.equal(all[4]?.choices[0]?.finish_reason, 'length')
  })

  test('long and batched streams arrive whole through a slow reader', async () => {
    for (const model of ['mock,chunks=60000', 'mock,chunks=60000,batch=16', 'mock,chunks=20,bigevent=1048576']) {
      const response = await ask(model, streamed)
      const decoder = new TextDecoder()
      let text = ''
      for await (const part of response.body ?? []) {
        text += decoder.decode(part, { stream: true })
        if (text.length % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      }
      const count = Number(/chunks=(\d+)/.exec(model)?.[1])
      assert.equal(events(text).length, count + 4, model)
      assert.equal(events(text).at(-1), '[DONE]')
      assert.equal(lastServed().frames_sent, count)
    }
  })

  test('bigevent sets the exact size of the first content frame', async () => {
    const text = await (await ask('mock,chunks=2,bigevent=5000', { stream: true })).text()
    assert.equal(Buffer.byteLength(text.split('\n\n')[1] ?? '') + 2, 5000)
  })

  test('framing options change bytes and not content', async () => {
    const plain = chunks(await (await ask('mock,chunks=4', streamed)).text())
    const odd = await (await ask('mock,chunks=4,eol=crlf,comments,multiline,split=3', streamed)).text()
    const joined = odd.replaceAll('\r\n', '\n').replaceAll('{\ndata: ', '{')
    assert.ok(odd.includes(': keep-alive\r\n\r\n'))
    const contents = (all: Chunk[]) => all.map((chunk) => chunk.choices[0]?.delta.content)
    assert.deepEqual(contents(chunks(joined)), contents(plain))
    const bom = Buffer.from(await (await ask('mock,chunks=1,bom', streamed)).arrayBuffer())
    assert.deepEqual([...bom.subarray(0, 3)], [0xef, 0xbb, 0xbf])
    const returns = await (await ask('mock,chunks=1,eol=cr', streamed)).text()
    assert.ok(!returns.includes('\n') && returns.includes('data: [DONE]\r\r'))
  })

  test('paced frames are sent at their times', async () => {
    const tookMs: number[] = []
    // None may be too fast, and not all of them slow: what else the machine does is not meant.
    await until('one of several is as fast as it should be', async () => {
      const startMs = performance.now()
      await (await ask('mock,chunks=11,delay=20', streamed)).text()
      tookMs.push(performance.now() - startMs)
      return tookMs.length >= 4 && Math.min(...tookMs) < 1_000
    })
    assert.ok(Math.min(...tookMs) >= 190, `${tookMs} ms`)
  })

  test('usage is sent in each of its odd forms', async () => {
    const usages = async (kind: string) =>
      chunks(await (await ask(`mock,chunks=3,usage=${kind}`, streamed)).text())
        .map((chunk) => chunk.usage?.['completion_tokens'])
        .filter((tokens) => tokens !== undefined)
    assert.deepEqual(await usages('none'), [])
    assert.deepEqual(await usages('null'), [])
    assert.deepEqual(await usages('zero'), [0])
    assert.deepEqual(await usages('every'), [1, 2, 3, 3, 3])
    assert.deepEqual(await usages('finish'), [3])
    assert.deepEqual(await usages('negative'), [-3])
    assert.deepEqual(await usages('fractional'), [3.5])
    assert.deepEqual(await usages('absurd'), [1e15])
    assert.deepEqual(await usages('twice'), [1, 3])
  })

  test('a tool call arrives in fragments that make one JSON object', async () => {
    const all = chunks(await (await ask('mock,chunks=5,tool', streamed)).text())
    const text = all.map((chunk) => chunk.choices[0]?.delta.tool_calls?.[0]?.function.arguments ?? '').join('')
    assert.deepEqual(JSON.parse(text), { city: 'Paris'.repeat(4) })
    assert.equal(all.at(-2)?.choices[0]?.finish_reason, 'tool_calls')
  })
})

describe('text completions of the mock provider', () => {
  const complete = (model: string, fields: Record<string, unknown> = {}) =>
    fetch(`http://127.0.0.1:${mock.provider.port}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, prompt: 'Once upon', ...fields }),
    })

  test('streamed and in one piece, with the same options, usage and log', async () => {
    const whole = (await (await complete('mock,chunks=3,cached=1')).json()) as TextAnswer
    assert.deepEqual([whole.object, itemOf(whole.choices, 0).text], ['text_completion', ' tok0 tok1 tok2'])
    assert.deepEqual(whole.choices[0], {
      index: 0,
      text: itemOf(whole.choices, 0).text,
      logprobs: null,
      finish_reason: 'stop',
    })
    assert.equal(whole.usage?.completion_tokens, 3)
    const text = await (await complete('mock,chunks=3,cached=1', { ...streamed, max_tokens: 2 })).text()
    const pieces = events(text)
      .slice(0, -1)
      .map((data) => JSON.parse(data) as TextAnswer)
    assert.equal(events(text).at(-1), '[DONE]')
    assert.equal(pieces.map(({ choices }) => choices[0]?.text ?? '').join(''), ' tok0 tok1')
    assert.deepEqual(pieces.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).at(-1), 'length')
    assert.equal(pieces.at(-1)?.usage?.prompt_tokens, 3)
    assert.deepEqual([lastServed().frames_sent, lastServed().prompt_bytes, lastServed().outcome], [2, 11, 'complete'])
  })

  test('completions require a prompt, and chat rejects one', async () => {
    assert.equal((await complete('mock', { prompt: undefined, messages: [] })).status, 400)
    assert.equal((await ask('mock', { messages: undefined, prompt: 'x' })).status, 400)
  })
})

interface TextAnswer {
  readonly object: string
  readonly choices: { text: string; finish_reason: string | null }[]
  readonly usage?: { prompt_tokens: number; completion_tokens: number } | null
}

describe('thoughts and refusals', () => {
  test('are separate from the text, streamed and in one piece', async () => {
    const asked = 'mock,chunks=2,thinking=2,refuse'
    const { choices } = (await (await ask(asked)).json()) as { choices: { message: unknown }[] }
    const said = { refusal: ' tok0 tok1', reasoning_content: ' thought0 thought1' }
    assert.deepEqual(itemOf(choices, 0).message, { role: 'assistant', content: null, ...said })
    const deltas = chunks(await (await ask(asked, { stream: true })).text()).map(
      (chunk) => itemOf(chunk.choices, 0).delta,
    )
    assert.deepEqual(deltas.slice(1, 5), [
      { reasoning_content: ' thought0' },
      { reasoning_content: ' thought1' },
      { refusal: ' tok0' },
      { refusal: ' tok1' },
    ])
  })
})

describe('answers in one piece', () => {
  test('content, reported details and echo', async () => {
    const whole = (await (await ask('mock,chunks=2,cached=4,reasoning=1,prompt=10')).json()) as Chunk
    assert.deepEqual(whole.usage, {
      prompt_tokens: 10,
      completion_tokens: 2,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 1 },
    })
    const echo = (await (await ask('mock,echo', { seed: 7 })).json()) as { choices: { message: { content: string } }[] }
    const seen = JSON.parse(echo.choices[0]?.message.content ?? '') as Record<string, unknown>
    assert.equal((seen['body'] as Record<string, unknown>)['seed'], 7)
    assert.deepEqual([seen['authorization'], seen['request_id']], [true, 'req_TEST'])
    assert.ok((seen['headers'] as string[]).includes('content-type'))
  })

  test('the log is served, and can be read from a number on', async () => {
    await (await ask('mock,chunks=1')).text()
    const last = lastServed()
    const text = await (await fetch(`http://127.0.0.1:${mock.provider.port}/_log?since=${last.n - 1}`)).text()
    assert.deepEqual(JSON.parse(text), last)
    const stats = (await (await fetch(`http://127.0.0.1:${mock.provider.port}/_stats`)).json()) as Record<
      string,
      number
    >
    assert.equal(stats['requests'], served.length)
    assert.equal(stats['open'], 0)
  })
})
