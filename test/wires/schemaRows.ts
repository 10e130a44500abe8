import type { Row, Sent } from './validatorRows.ts'

const said = { role: 'user', content: 'go on' }
const schemaOf = ({ tools }: Sent) => {
  const [tool] = tools as { input_schema?: unknown; function?: Sent }[]
  return tool?.input_schema ?? tool?.function?.['parameters']
}
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const nullable = (count: number) => {
  const names = Array.from({ length: count }, (_, i) => `m${i}`)
  const properties = Object.fromEntries(names.map((name) => [name, { type: ['string', 'null'] }]))
  return object(properties, { required: names, additionalProperties: false })
}
const format = (schema: object) => ({
  messages: [said],
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } },
})

/** Tools and schemas of answers. */
export const SCHEMA_ROWS: readonly Row[] = [
  ...(['openai', 'anthropic'] as const).flatMap((to) => {
    const odd = object([], { required: null, description: null })
    const nested = object({ a: object([], { enum: null }) })
    const chatTool = (parameters: unknown) => [{ type: 'function', function: { name: 'f', parameters } }]
    const row = (title: string, schema: unknown, expected: unknown): Row[] => [
      { title, from: 'chat', to, body: { messages: [said], tools: chatTool(schema) }, sent: schemaOf, expected },
      {
        title: `${title}, in Messages`,
        from: 'messages',
        to,
        body: { messages: [said], tools: [{ name: 'f', input_schema: schema }] },
        sent: schemaOf,
        expected,
      },
    ]
    return [
      ...row(`lists and null of other languages to ${to}`, odd, object({})),
      ...row(`the same within members to ${to}`, nested, object({ a: object({}) })),
    ]
  }),
  {
    title: 'a list as the parameters of a tool',
    from: 'chat',
    to: 'openai',
    body: { messages: [said], tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] },
    sent: schemaOf,
    expected: undefined,
  },
  {
    title: 'members whose names the format refuses',
    from: 'chat',
    to: 'anthropic',
    body: {
      messages: [said],
      tools: [
        {
          type: 'function',
          function: { name: 'f', parameters: object({ $filter: {}, a: {} }, { required: ['a', '$filter'] }) },
        },
      ],
    },
    sent: schemaOf,
    expected: object({ a: {} }, { required: ['a'], description: 'Members that cannot be set: $filter' }),
  },
  {
    title: 'the same names for a provider of another format',
    from: 'messages',
    to: 'openai',
    body: {
      messages: [said],
      tools: [{ name: 'f', input_schema: object({ $filter: {} }, { required: ['$filter'] }) }],
    },
    sent: schemaOf,
    expected: object({ $filter: {} }, { required: ['$filter'] }),
  },
  {
    title: 'a strict tool with a member named properties',
    from: 'messages',
    to: 'openai',
    body: {
      messages: [said],
      tools: [
        {
          name: 'f',
          strict: true,
          input_schema: object(
            { properties: object({ a: {} }, { required: ['a'], additionalProperties: false }) },
            { required: ['properties'], additionalProperties: false },
          ),
        },
      ],
    },
    sent: ({ tools }) => JSON.stringify(tools).includes('"strict":true'),
    expected: true,
  },
  {
    title: 'a strict tool whose members are not all required',
    from: 'messages',
    to: 'openai',
    body: {
      messages: [said],
      tools: [
        { name: 'f', strict: true, input_schema: object({ a: {} }, { required: [], additionalProperties: false }) },
      ],
    },
    sent: ({ tools }) => JSON.stringify(tools).includes('strict'),
    expected: false,
  },
  ...([16, 17] as const).map(
    (unions): Row => ({
      title: `a schema with ${unions} unions, of which the format takes 16`,
      from: 'chat',
      to: 'anthropic',
      body: format(nullable(unions)),
      sent: (body) => 'output_config' in body,
      expected: unions === 16,
    }),
  ),
]
