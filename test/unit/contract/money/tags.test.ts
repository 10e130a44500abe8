import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { mergedTags, readTagsHeader, tagsIn, tagsOf, tagsText, userText } from '../../../../contract/money/tags.ts'
import { limits, limitsWith } from '../../../support/limits.ts'

const H = 'x-sluice-tags'

/** A refusal that names the field. */
const refused = (param: string) => (error: unknown) =>
  error instanceof GatewayError && error.status === 400 && error.param === param && error.message.startsWith(param)

test('tags have one text, whatever their order, and are read from it again', () => {
  const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter((text) => !/\p{Cc}|\p{Cs}/u.test(text))
  const value = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !/\p{Cc}|\p{Cs}/u.test(text))
  const wide = limitsWith({ tagsBytesMax: 1_000_000 })
  fc.assert(
    fc.property(fc.dictionary(name, value, { maxKeys: 16, noNullPrototype: true }), (tags) => {
      const text = tagsText(Object.entries(tags), 'metadata', wide)
      assert.equal(tagsText(Object.entries(tags).reverse(), 'metadata', wide), text)
      assert.deepEqual(new Map(Object.entries(tagsOf(text))), new Map(Object.entries(tags)))
      assert.match(text, /^[\x21-\x7e]*$/)
      assert.equal(readTagsHeader(text, H, wide), text)
      assert.equal(tagsIn(text).length, Object.keys(tags).length)
    }),
    { examples: [[{}], [JSON.parse('{"__proto__":"x","a,b=c":"ä %","2":"","10":"é"}')]] },
  )
})

test('the header is names and values joined by = and commas', () => {
  assert.equal(readTagsHeader(' team = search ,, env=prod,', H, limits), 'env=prod,team=search')
  assert.equal(readTagsHeader('a=b=c', H, limits), 'a=b%3Dc')
  assert.equal(readTagsHeader('a%2Cb=%C3%A4', H, limits), 'a%2Cb=%C3%A4')
  assert.equal(readTagsHeader('', H, limits), '')
  for (const wrong of ['team', '=x', 'a=%zz', 'a=%C3', 'a=1,a=2', 'a=%00', 'ä=b', 'a=\u007f']) {
    assert.throws(() => readTagsHeader(wrong, H, limits), refused(H), wrong)
  }
})

test('tags that are too many, too long or not texts are refused by the name of their field', () => {
  const { tagsMax, tagNameCharactersMax, tagValueCharactersMax, tagsBytesMax } = limits
  const many = (count: number): [string, string][] => Array.from({ length: count }, (_, i) => [`t${i}`, 'x'])
  assert.equal(tagsIn(tagsText(many(tagsMax), 'metadata', limits)).length, tagsMax)
  const long = 'x'.repeat(tagValueCharactersMax)
  const wrong: [string, unknown][][] = [
    many(tagsMax + 1),
    [['', 'x']],
    [['n'.repeat(tagNameCharactersMax + 1), 'x']],
    [['n', `${long}x`]],
    [['n', 1]],
    [['n', null]],
    [['n', 'a\nb']],
    [['n\u0085', 'b']],
    [['n', '\ud800']],
    Array.from({ length: Math.ceil(tagsBytesMax / tagValueCharactersMax) }, (_, i) => [`n${i}`, long]),
  ]
  for (const pairs of wrong) {
    assert.throws(() => tagsText(pairs, 'metadata', limits), refused('metadata'), JSON.stringify(pairs).slice(0, 60))
  }
  assert.equal(tagsText([['n'.repeat(tagNameCharactersMax), long]], 'metadata', limits).length, 64 + 1 + 512)
})

test('a later source of tags replaces those of the same name', () => {
  assert.equal(mergedTags(['a=1,b=1', 'b=2', 'b=3,c='], H, limits), 'a=1,b=3,c=')
  assert.equal(mergedTags(['', 'b=2', ''], H, limits), 'b=2')
  assert.equal(mergedTags(['', ''], H, limits), '')
  assert.throws(() => mergedTags(['a=1', 'b=2'], H, limitsWith({ tagsMax: 1 })), refused(H))
  assert.equal(mergedTags(['a=1', 'a=2'], H, limitsWith({ tagsMax: 1 })), 'a=2')
})

test('a user is a text within its bound', () => {
  assert.equal(userText('a b/ä', 'user', limits), 'a%20b%2F%C3%A4')
  for (const wrong of ['a\u0000', '\udc00', 'ä'.repeat(limits.userBytesMax / 6 + 1)]) {
    assert.throws(() => userText(wrong, 'user', limits), refused('user'))
  }
})
