// Large bodies that are as dear as can be to read, by what they are made of.

const list = (count: number, item: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join(',')
const NAME = 'n'.repeat(60)
const names = (count: number) => `{${list(count, (i) => `"${NAME}${i}":1`)}}`
const said = (content: string, more = '') =>
  `{"model":"test/chat","max_tokens":9,${more}"messages":[{"role":"user","content":${content}}]}`
const PARTS = `[${list(15_000, (i) => `{"type":"text","text":"${NAME}${i}"}`)}]`

/** What a schema may be made of. */
const SCHEMAS: Readonly<Record<string, string>> = {
  names: names(30_000),
  fractions: `{"enum":[${list(150_000, (i) => `0.${i}7`)}]}`,
  'empty objects': `{"enum":[${list(150_000, () => '{}')}]}`,
  nests: `{"enum":[${list(2_000, () => `${'['.repeat(100)}1${']'.repeat(100)}`)}]}`,
}
const TEXTS: Readonly<Record<string, string>> = {
  'a long text': `"${'a'.repeat(3_000_000)}"`,
  'escaped letters': `"${'\\u00fc'.repeat(600_000)}"`,
  'wide letters': `"${'漢'.repeat(1_000_000)}"`,
  'many parts': PARTS,
}

const tool = (schema: string) => `"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}],`
const images = list(16, () => `{"type":"image_url","image_url":{"url":"data:image/png;base64,${'A'.repeat(150_000)}"}}`)

const entries = (record: Readonly<Record<string, string>>) => Object.entries(record)

/** Path, what the body is made of, and the body. */
export const ADVERSARIAL: readonly (readonly [path: string, what: string, body: () => string])[] = [
  ...entries(TEXTS).map(([what, text]) => ['/v1/chat/completions', what, () => said(text)] as const),
  ...entries(SCHEMAS).map(
    ([what, schema]) => ['/v1/chat/completions', `schema of ${what}`, () => said('"a"', tool(schema))] as const,
  ),
  ['/v1/chat/completions', 'names that nobody knows', () => said('"a"', `"zz":${names(30_000)},`)],
  ['/v1/chat/completions', 'images', () => said(`[${images}]`)],
  [
    '/v1/chat/completions',
    'tool calls',
    () => {
      const calls = list(5_000, (i) => `{"id":"c${i}","type":"function","function":{"name":"f","arguments":"{}"}}`)
      return `{"model":"test/chat","messages":[{"role":"assistant","tool_calls":[${calls}]}]}`
    },
  ],
  [
    '/v1/chat/completions',
    'messages',
    () => `{"model":"test/chat","messages":[${list(2_000, () => `{"role":"user","content":"${'y'.repeat(1_000)}"}`)}]}`,
  ],
  ['/v1/chat/completions', 'a batch job', () => said(PARTS, '"batch":true,')],
  ['/v1/messages', 'many parts', () => said(PARTS)],
  ['/v1/messages', 'schema of names', () => said('"a"', `"tools":[{"name":"f","input_schema":${names(30_000)}}],`)],
  ['/v1/messages/count_tokens', 'many parts', () => said(PARTS)],
  [
    '/v1/responses',
    'long instructions',
    () => `{"model":"test/chat","input":"a","instructions":"${'a'.repeat(3_000_000)}"}`,
  ],
  [
    '/v1/responses',
    'many parts',
    () =>
      `{"model":"test/chat","input":[{"role":"user","content":${PARTS.replaceAll('"type":"text"', '"type":"input_text"')}}]}`,
  ],
  [
    '/v1/embeddings',
    'tokens',
    () => `{"model":"test/embedding","input":[${list(1_000, () => `[${list(200, String)}]`)}]}`,
  ],
  [
    '/v1/embeddings',
    'texts',
    () => `{"model":"test/embedding","input":[${list(2_000, () => `"${'b\\n'.repeat(900)}"`)}]}`,
  ],
  [
    '/v1/rerank',
    'documents',
    () =>
      `{"model":"test/rerank","query":"q","return_documents":true,"documents":[${list(5_000, () => `"${'b'.repeat(500)}"`)}]}`,
  ],
  [
    '/v1/videos/generations',
    'a first frame',
    () => `{"model":"test/video","prompt":"x","image":"data:image/png;base64,${'A'.repeat(3_000_000)}"}`,
  ],
  ...['chat', 'quote'].map(
    (name) =>
      [
        '/mcp',
        `${name} with names`,
        () =>
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${said('"a"', `"zz":${names(12_000)},`)}}}`,
      ] as const,
  ),
]
