import type { Variables } from '../../../contract/schemas/environment.ts'
import type { RecordsLimits } from '../limits.ts'
import type { ExportForm } from './exportFile.ts'
import { type ExportStore, FolderStore, type S3Settings, S3Store } from './exportStore.ts'

/** Where exports go, and in which form. */
export interface ExportSettings {
  readonly form: ExportForm
  readonly store: (limits: RecordsLimits) => ExportStore
}

const S3 = /^s3:\/\/([^/]+)\/?(.*)$/

type ExportVariables = Pick<
  Variables,
  | ('SLUICE_EXPORT' | 'SLUICE_EXPORT_FORM' | 'SLUICE_EXPORT_S3_ENDPOINT' | 'AWS_REGION')
  | ('AWS_ACCESS_KEY_ID' | 'AWS_SECRET_ACCESS_KEY' | 'AWS_SESSION_TOKEN')
>

/** Undefined where nothing is exported. @throws Error that names the variable which is missing */
export function exportSettings(variables: ExportVariables): ExportSettings | undefined {
  const { SLUICE_EXPORT: place, SLUICE_EXPORT_FORM: form } = variables
  if (place === undefined || place === '') return undefined
  const [, bucket, folder = ''] = S3.exec(place) ?? []
  if (bucket === undefined) return { form, store: () => new FolderStore(place) }
  const settings = s3Settings(variables, bucket, folder)
  return { form, store: (limits) => new S3Store(settings, limits) }
}

function s3Settings(variables: ExportVariables, bucket: string, folder: string): S3Settings {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_REGION: region } = variables
  if (!accessKeyId) throw new Error('AWS_ACCESS_KEY_ID is missing: SLUICE_EXPORT is a bucket')
  if (!secretAccessKey) throw new Error('AWS_SECRET_ACCESS_KEY is missing: SLUICE_EXPORT is a bucket')
  const endpoint = variables.SLUICE_EXPORT_S3_ENDPOINT ?? `https://s3.${region}.amazonaws.com`
  const path = [bucket, ...folder.split('/')].filter((part) => part !== '').map(encodeURIComponent)
  return {
    url: new URL(`${endpoint.replace(/\/+$/, '')}/${path.join('/')}/`),
    region,
    accessKeyId,
    secretAccessKey,
    sessionToken: variables.AWS_SESSION_TOKEN,
  }
}
