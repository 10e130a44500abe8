import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { checkFirstFrame } from '../../../../../proxy/endpoints/videos/firstFrame.ts'
import { dataUrl, jpegHead, pngHead } from '../../../../support/samples/pictures.ts'

const LIMITS = { videoImageBytesMax: 4_096, videoImageSideMax: 1_000 }
const PNG = pngHead(640, 360)
const JPEG = jpegHead(640, 360)

function codeOf(sent: unknown): string | null {
  try {
    assert.equal(checkFirstFrame(sent, LIMITS), sent)
    return null
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    assert.equal(error.param, 'image')
    return error.code
  }
}

test('a PNG and a JPEG are accepted unchanged', () => {
  for (const url of [dataUrl('png', PNG), dataUrl('PNG', PNG), dataUrl('jpeg', JPEG), dataUrl('jpg', JPEG)]) {
    assert.equal(codeOf(url), null, url)
  }
})

test('an unreadable PNG or JPEG data URL is rejected', () => {
  const base64 = PNG.toString('base64')
  for (const sent of [
    null,
    7,
    {},
    '',
    'https://example.com/a.png',
    'data:image/png;base64,',
    'data:image/png,plain',
    `data:image/gif;base64,${base64}`,
    `data:image/png;base64,${base64.slice(1)}`,
    `data:image/png;base64,${base64}!`,
    `data:image/png;base64, ${base64}`,
    `data:image/png;base64,${base64}\n`,
    `data:image/png;base64,-_${base64.slice(2)}`,
    dataUrl('jpeg', PNG),
    dataUrl('png', JPEG),
    dataUrl('png', PNG.subarray(0, 23)),
    dataUrl('png', pngHead(0, 360)),
    dataUrl('png', pngHead(640, 0)),
    dataUrl('jpeg', jpegHead(0, 10)),
    dataUrl('jpeg', JPEG.subarray(0, 4)),
    dataUrl('jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xd9, 0xff, 0xc0])),
    dataUrl('jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x00, 0x01, 0xff, 0xc0, 0, 11, 8, 0, 9, 0, 9])),
    dataUrl('jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xda, 0x00, 0x02])),
  ]) {
    assert.equal(codeOf(sent), 'invalid_image', String(sent))
  }
})

test('too many bytes or pixels are rejected, at the bound they are not', () => {
  assert.equal(codeOf(dataUrl('png', pngHead(640, 360, 4_096 - PNG.length))), null)
  assert.equal(codeOf(dataUrl('png', pngHead(640, 360, 4_097 - PNG.length))), 'image_too_large')
  assert.equal(codeOf(dataUrl('png', pngHead(1_000, 1_000))), null)
  assert.equal(codeOf(dataUrl('png', pngHead(1_001, 1))), 'image_too_large')
  assert.equal(codeOf(dataUrl('jpeg', jpegHead(1, 1_001))), 'image_too_large')
})

test('property: no bytes break the reader, and it never reads beyond their end', () => {
  const start = fc.constantFrom(Buffer.alloc(0), PNG.subarray(0, 16), JPEG.subarray(0, 2), JPEG.subarray(0, 12))
  fc.assert(
    fc.property(fc.constantFrom('png', 'jpeg'), start, fc.uint8Array({ maxLength: 200 }), (type, head, rest) => {
      const code = codeOf(dataUrl(type, Buffer.concat([head, rest])))
      assert.ok(code === null || code === 'invalid_image' || code === 'image_too_large')
    }),
    { numRuns: 2_000 },
  )
})
