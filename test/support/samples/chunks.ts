import fc from 'fast-check'

const leaf = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.constant(null),
  fc.boolean(),
  fc.double({ noNaN: true }),
)
const extra = fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(fc.string(), leaf, { maxKeys: 3 }))
const choice = fc.record(
  {
    index: fc.nat(3),
    // Output in other forms is rewritten.
    delta: fc.record(
      {
        role: fc.constant('assistant'),
        content: fc.oneof(fc.string({ unit: 'binary' }), fc.constant(null)),
        x: extra,
        id: extra,
        usage: extra,
      },
      { requiredKeys: [] },
    ),
    finish_reason: fc.constantFrom(null, 'stop'),
    logprobs: extra,
  },
  { requiredKeys: ['index', 'delta'] },
)
const members = fc.record(
  {
    id: fc.string({ unit: 'binary', maxLength: 40 }),
    object: fc.constant('chat.completion.chunk'),
    created: fc.nat(),
    model: fc.string({ maxLength: 20 }),
    choices: fc.array(choice, { minLength: 1, maxLength: 3 }),
    usage: fc.oneof(fc.constant(null), fc.record({ prompt_tokens: fc.nat(1000), completion_tokens: fc.nat(1000) })),
    x: extra,
  },
  { requiredKeys: ['choices'] },
)
/** JSON objects with their members in any order and with any spacing. */
export const chunk = fc
  .tuple(members, fc.nat(1_000_000), fc.constantFrom(undefined, 1, ' \t'))
  .map(([object, seed, indent]) => {
    const names = Object.keys(object)
    const start = names.length === 0 ? 0 : seed % names.length
    const turned = [...names.slice(start), ...names.slice(0, start)]
    const shuffled = Object.fromEntries(turned.map((name) => [name, Reflect.get(object, name)]))
    return { object, json: JSON.stringify(shuffled, null, indent).replaceAll('\n', ' ') }
  })
