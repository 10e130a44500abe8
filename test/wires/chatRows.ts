/** The user's newest message. */
export const said = { role: 'user', content: 'go on' }
const f = { name: 'f', arguments: '{"a":1}' }
export const call = { id: 't1', type: 'function', function: f }
export const asking = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls })
export const answer = (id: string, content: unknown = 'x') => ({ role: 'tool', content, tool_call_id: id })
export const part = (type: string, text: string) => ({ type, text })
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: { a: 1 } })
const result = (id: string, content: unknown) => ({ type: 'tool_result', tool_use_id: id, content })
const missing = { role: 'tool', tool_call_id: 't1', content: 'There is no result.' }
export const signed = { ...call, extra_content: { google: { thought_signature: 'c2lnbmVk' } } }
export const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }

const MARK = { cache_control: { type: 'ephemeral' } }

/** The messages of a chat, and those that a provider of the same format gets. */
export const HISTORIES: readonly (readonly [title: string, chat: readonly object[], sent: readonly object[]])[] = [
  [
    'parts of the assistant that have no price',
    [
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 's' }, part('output_text', 'a')] },
      said,
    ],
    [{ role: 'assistant', content: [part('text', 'a')] }, said],
  ],
  [
    'parts of the assistant that all have no price',
    [said, { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }] }, said],
    [said, said],
  ],
  [
    'parts of an older turn of the user that have no price',
    [
      { role: 'user', content: [part('input_text', 'a'), { type: 'input_audio', input_audio: { data: 'AAAA' } }] },
      said,
    ],
    [{ role: 'user', content: [part('text', 'a'), part('text', '[input_audio left out]')] }, said],
  ],
  [
    'calls and results as blocks',
    [
      said,
      { role: 'assistant', content: [part('text', 'a'), use('t1'), use('t2')] },
      { role: 'user', content: [result('t1', 'x'), result('t2', [part('text', 'y')]), part('text', 'go on')] },
    ],
    [
      said,
      { ...asking(call, { ...call, id: 't2' }), content: [part('text', 'a')] },
      answer('t1'),
      answer('t2', 'y'),
      { role: 'user', content: [part('text', 'go on')] },
    ],
  ],
  [
    'a call and a result alone as blocks',
    [
      { role: 'assistant', content: [use('t1')] },
      { role: 'user', content: [result('t1', 'x')] },
    ],
    [asking(call), answer('t1')],
  ],
  [
    'a call as a member and as a block',
    [said, { ...asking(call), content: [part('text', 'a'), use('t1')] }, answer('t1')],
    [said, { ...asking(call), content: [part('text', 'a')] }, answer('t1')],
  ],
  [
    'a result of several texts',
    [said, asking(call), answer('t1', [part('text', 'a'), part('text', 'b')]), said],
    [said, asking(call), answer('t1', 'a\nb'), said],
  ],
  [
    'a result of several texts with a mark for the cache',
    [said, asking(call), answer('t1', [part('text', 'a'), { ...part('text', 'b'), ...MARK }]), said],
    [said, asking(call), answer('t1', [part('text', 'a'), { ...part('text', 'b'), ...MARK }]), said],
  ],
  [
    'messages that are to be cached',
    [{ role: 'system', content: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }, said],
    [{ role: 'system', content: [{ ...part('text', 'a'), cache_control: { type: 'ephemeral' } }] }, said],
  ],
  [
    'an image as a block, in a result',
    [
      asking(call),
      {
        role: 'user',
        content: [result('t1', [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }])],
      },
    ],
    [asking(call), answer('t1', ''), { role: 'user', content: [image] }],
  ],
  [
    'an image in a result',
    [asking(call, { ...call, id: 't2' }), answer('t1', [part('text', 'a'), image]), answer('t2', [image])],
    [
      asking(call, { ...call, id: 't2' }),
      answer('t1', 'a'),
      answer('t2', ''),
      { role: 'user', content: [image, image] },
    ],
  ],
  [
    'an image in a result, before a text of the user',
    [asking(call), answer('t1', [image]), said],
    [asking(call), answer('t1', ''), { role: 'user', content: [image, part('text', 'go on')] }],
  ],
  [
    'an image in a result, before a message of the assistant',
    [asking(call), answer('t1', [image]), { role: 'assistant', content: 'a' }, said],
    [asking(call), answer('t1', ''), { role: 'user', content: [image] }, { role: 'assistant', content: 'a' }, said],
  ],
  [
    'parts of a result that have no price',
    [said, asking(call), answer('t1', [{ type: 'resource', uri: 'x' }])],
    [said, asking(call), answer('t1', '[resource left out]')],
  ],
  [
    'an empty list of calls',
    [{ role: 'assistant', content: 'a', tool_calls: [] }, said],
    [{ role: 'assistant', content: 'a' }, said],
  ],
  ['a turn in which nothing was said', [said, { role: 'assistant', content: null }, said], [said, said]],
  [
    'a turn of nothing but reasoning',
    [said, { role: 'assistant', content: '', reasoning_content: 'hm' }, said],
    [said, said],
  ],
  [
    'parts without their text',
    [{ role: 'assistant', content: [{ type: 'text' }, part('text', 'a')] }, said],
    [{ role: 'assistant', content: [part('text', ''), part('text', 'a')] }, said],
  ],
  ['an empty list of the user', [{ role: 'user', content: [] }, said], [{ role: 'user', content: '' }, said]],
  [
    'nothing and an empty list of calls',
    [said, { role: 'assistant', content: null, tool_calls: [] }, said],
    [said, said],
  ],
  [
    'arguments as an object',
    [asking({ ...call, function: { name: 'f', arguments: { a: 1 } } }), answer('t1')],
    [asking(call), answer('t1')],
  ],
  [
    'no arguments',
    [asking({ ...call, function: { name: 'f' } }), answer('t1')],
    [asking({ ...call, function: { name: 'f', arguments: '{}' } }), answer('t1')],
  ],
  [
    'null as the arguments',
    [asking({ ...call, function: { name: 'f', arguments: null } }), answer('t1')],
    [asking({ ...call, function: { name: 'f', arguments: '{}' } }), answer('t1')],
  ],
  [
    'an empty text as the arguments',
    [asking({ ...call, function: { name: 'f', arguments: '' } }), answer('t1')],
    [asking({ ...call, function: { name: 'f', arguments: '{}' } }), answer('t1')],
  ],
  [
    'no ids',
    [asking({ function: f }, { function: f }), { role: 'tool', content: 'x' }, { role: 'tool', content: 'y' }],
    [asking({ ...call, id: 'call_0_0' }, { ...call, id: 'call_0_1' }), answer('call_0_0'), answer('call_0_1', 'y')],
  ],
  ['a result without the id of its call', [asking(call), { role: 'tool', content: 'x' }], [asking(call), answer('t1')]],
  ['a result of null', [asking(call), answer('t1', null)], [asking(call), answer('t1', '')]],
  ['a result that is an object', [asking(call), answer('t1', { b: [2] })], [asking(call), answer('t1', '{"b":[2]}')]],
  ['a result that is an empty list', [asking(call), answer('t1', [])], [asking(call), answer('t1', '')]],
  [
    'a result that is a list of no parts',
    [asking(call), answer('t1', [{ id: 1 }, 'b'])],
    [asking(call), answer('t1', '[{"id":1},"b"]')],
  ],
  ['a result that is a number', [asking(call), answer('t1', 5)], [asking(call), answer('t1', '5')]],
  ['a call without a result', [asking(call), said], [asking(call), missing, said]],
  ['a call without a result at the end', [said, asking(call)], [said, asking(call), missing]],
  ['a text between a call and its result', [asking(call), said, answer('t1')], [asking(call), answer('t1'), said]],
  [
    'results in another order',
    [asking(call, { ...call, id: 't2' }), answer('t2'), answer('t1')],
    [asking(call, { ...call, id: 't2' }), answer('t2'), answer('t1')],
  ],
  ['a result without a call', [answer('t9'), said], [{ role: 'user', content: 'x' }, said]],
  [
    'a result twice',
    [asking(call), answer('t1'), answer('t1', 'y')],
    [asking(call), answer('t1'), { role: 'user', content: 'y' }],
  ],
]

/** Tools of a request in other formats, and as providers get them. */
const HOSTED = { type: 'web_search' }
export const CHOSEN = { type: 'function', function: { name: 'f' } }
export const CHOICES: readonly (readonly [title: string, body: object, sent: object])[] = [
  [
    'tools of Responses',
    { tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }] },
    { tools: [tool] },
  ],
  ['tools without their type', { tools: [{ function: tool.function }] }, { tools: [tool] }],
  ['tools of Messages', { tools: [{ name: 'f', input_schema: { type: 'object' } }] }, { tools: [tool] }],
  [
    'the word of Messages for any tool',
    { tools: [tool], tool_choice: 'any' },
    { tools: [tool], tool_choice: 'required' },
  ],
  [
    'any tool as an object',
    { tools: [tool], tool_choice: { type: 'any' } },
    { tools: [tool], tool_choice: 'required' },
  ],
  ['auto as an object', { tools: [tool], tool_choice: { type: 'auto' } }, { tools: [tool], tool_choice: 'auto' }],
  [
    'a choice of Responses',
    { tools: [tool], tool_choice: { type: 'function', name: 'f' } },
    { tools: [tool], tool_choice: CHOSEN },
  ],
  [
    'a choice of Messages',
    { tools: [tool], tool_choice: { type: 'tool', name: 'f' } },
    { tools: [tool], tool_choice: CHOSEN },
  ],
  ['a choice of a hosted tool', { tools: [tool, HOSTED], tool_choice: HOSTED }, { tools: [tool] }],
]
