// Goal: an image is read from every spelling of a data URL that clients use, into the one that all providers take.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imageType, plainBase64, readDataUrl } from '../../../../../proxy/dialects/shared/dataUrl.ts'
import { readImageUrl } from '../../../../../proxy/dialects/shared/imageUrl.ts'

/** Read from each of its characters, a run of this length takes seconds. */
const RUN_CHARACTERS = 65_536
const RUN_MS_MAX = 1_000

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452fbff', 'hex').toString('base64')
const JPEG = Buffer.from('ffd8ffe000104a464946', 'hex').toString('base64')
const GIF = Buffer.from('GIF89a').toString('base64')
const WEBP = Buffer.from('RIFF\0\0\0\0WEBPVP8 ').toString('base64')

const READ: [url: string, type: string, base64: string][] = [
  [`data:image/png;base64,${PNG}`, 'image/png', PNG],
  [`data:image/jpg;base64,${JPEG}`, 'image/jpeg', JPEG],
  [`data:image/pjpeg;base64,${JPEG}`, 'image/jpeg', JPEG],
  [`DATA:IMAGE/PNG;BASE64,${PNG}`, 'image/png', PNG],
  [`data:image/webp;charset=utf-8;base64,${WEBP}`, 'image/webp', WEBP],
  [`data:;base64,${PNG}`, 'image/png', PNG],
  [`data:image/jpeg;base64,${PNG}`, 'image/png', PNG],
  [`data:application/octet-stream;base64,${JPEG}`, 'image/jpeg', JPEG],
  [`data:application/octet-stream;base64,${GIF}`, 'image/gif', GIF],
  [`data:image/*;base64,${WEBP}`, 'image/webp', WEBP],
  [`data:image/png;base64,${PNG.slice(0, 8)}\r\n ${PNG.slice(8)}`, 'image/png', PNG],
  [`data:image/png;base64,${PNG.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`, 'image/png', PNG],
  [`data:image/png;base64,${encodeURIComponent(PNG)}`, 'image/png', PNG],
]
for (const [url, type, base64] of READ) {
  test(`${url.slice(0, 44)} is ${type}`, () => {
    const found = readDataUrl(url)
    assert.deepEqual([found?.type, plainBase64(found?.base64 ?? '')], [type, base64])
    assert.equal(readImageUrl(url, 'image', { textBytes: 0, messages: 1, images: 1 }), url)
  })
}

const REFUSED = [
  'data:image/svg+xml;utf8,<svg/>',
  'data:image/svg+xml;base64,PHN2Zy8+',
  'data:image/png,abc',
  'data:;base64,QUJD',
  'data:application/pdf;base64,JVBERi0=',
  'data:',
]
for (const url of REFUSED) {
  test(`${url} is refused by the names of what is taken`, () => {
    assert.equal(readDataUrl(url), null)
    const read = () => readImageUrl(url, 'messages[0].content[1]', { textBytes: 0, messages: 1, images: 1 })
    assert.throws(read, /messages\[0\]\.content\[1\] must be .*image\/jpeg, image\/png, image\/gif, image\/webp/)
  })
}

test('base64 that cannot be mended is left to the provider', () => {
  for (const text of ['AAAAA', 'A*==', '%zz', 'A==A']) assert.equal(plainBase64(text), text)
})

test('padding that is not at the end is read in no time', () => {
  const { user } = process.cpuUsage()
  for (const end of ['x', 'xx', 'xxx', '*']) {
    const text = `${'='.repeat(RUN_CHARACTERS)}${end}`
    assert.equal(plainBase64(text), text)
  }
  assert.ok((process.cpuUsage().user - user) / 1_000 < RUN_MS_MAX)
})

test('types of Messages are read in the same spellings', () => {
  const types = ['image/jpg', 'IMAGE/PNG', 'image/tiff'].map((stated) => imageType(stated, 'AAAA'))
  assert.deepEqual(types, ['image/jpeg', 'image/png', null])
})
