import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { RequestHead } from '../../server/exchange.ts'
import { readForm } from '../../upload/form.ts'
import { type FormFile, formBody } from '../../upload/formBody.ts'
import { besideForm } from './beside.ts'
import { BufferedRun } from './bufferedRun.ts'
import { formObject, formProvider } from './formFields.ts'
import { ImageEventPlan, ImagePlan } from './imagePlan.ts'
import { IMAGE_MEMBERS, type ImageRequest, readImageRequest } from './imageRequest.ts'
import type { ModalityLimits } from './limits.ts'
import type { BufferedPlan, Operation, PlanContext, UnitProviderRequest } from './operation.ts'

interface EditRequest extends ImageRequest {
  readonly files: readonly FormFile[]
}

const READ: ReadonlySet<string> = new Set([...IMAGE_MEMBERS, 'image', 'mask'])
/** The first bytes of the pictures that are taken. */
const FORMATS: readonly {
  readonly extension: string
  readonly contentType: string
  readonly is: (start: string) => boolean
}[] = [
  { extension: 'png', contentType: 'image/png', is: (start) => start.startsWith('\x89PNG\r\n\x1a\n') },
  { extension: 'jpg', contentType: 'image/jpeg', is: (start) => start.startsWith('\xff\xd8\xff') },
  {
    extension: 'webp',
    contentType: 'image/webp',
    is: (start) => start.startsWith('RIFF') && start.startsWith('WEBP', 8),
  },
]

/** POST /v1/images/edits. */
export const imageEdits: Operation<EditRequest, BufferedPlan> = {
  endpoint: 'image_edits',
  upload: true,
  streamed: false,
  Run: BufferedRun,
  read: readRequest,
  plan: (request, context) => new EditPlan(request, context),
  events: {
    asks: ({ partialImages }) => partialImages !== null,
    kind: 'images',
    param: 'stream',
    plan: (request, context) => new ImageEventPlan(new EditPlan(request, context), 'image_edit', context),
  },
}

function readRequest(bytes: Buffer, head: RequestHead, limits: ModalityLimits): EditRequest {
  const form = readForm(bytes, head.contentType, limits)
  const body = formObject(form, {
    texts: ['model', 'prompt', 'size', 'response_format', 'user'],
    numbers: ['n', 'partial_images'],
  })
  const request = readImageRequest({ ...body, provider: formProvider(form) }, limits)
  const pictures = form.files('image')
  if (pictures.length === 0) throw invalidRequest('Send the picture to edit as the file image.', 'image')
  if (pictures.length > limits.imagesMax) throw new GatewayError('too_many_images', { param: 'image' })
  // Providers distinguish a list of one from a single image by the name.
  const name = pictures.length === 1 ? 'image' : 'image[]'
  const files = pictures.map((data) => pictureFile(name, 'image', data))
  const masks = form.files('mask')
  if (masks.length > 1) throw invalidRequest('Send one file as mask.', 'mask')
  const beside = besideForm(form.names, READ, limits)
  return { ...request, beside, files: [...files, ...masks.map((data) => pictureFile('mask', 'mask', data))] }
}

function pictureFile(name: string, param: string, data: Buffer): FormFile {
  const start = data.toString('latin1', 0, 16)
  const format = FORMATS.find((known) => known.is(start))
  if (format === undefined) throw invalidRequest(`${param} must be a PNG, JPEG or WebP file.`, param)
  return { name, filename: `${param}.${format.extension}`, contentType: format.contentType, data }
}

class EditPlan extends ImagePlan {
  private readonly files: readonly FormFile[]

  constructor(request: EditRequest, context: PlanContext) {
    super(request, context)
    this.files = request.files
  }

  ask(route: Route): UnitProviderRequest {
    const { n, partialImages } = this.request
    const streamed: [string, string][] =
      partialImages === null
        ? []
        : [
            ['stream', 'true'],
            ['partial_images', String(partialImages)],
          ]
    const { contentType, pieces } = formBody(
      [['model', route.upstreamModel], ['n', String(n)], ...this.fields(), ...streamed],
      this.files,
    )
    return { path: '/images/edits', contentType, accept: 'application/json', body: pieces }
  }
}
