declare module '@20minutes/s3rver' {
  /** A server that speaks the protocol of Amazon S3, and checks signatures; its key and secret are S3RVER. */
  class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly silent: boolean
      readonly directory: string
      readonly configureBuckets: readonly { readonly name: string; readonly configs: readonly Buffer[] }[]
    })
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
  export = S3rver
}
