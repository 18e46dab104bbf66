// The parts of an OpenAPI 3.1 document that paygate writes and its reference page reads.
// https://spec.openapis.org/oas/v3.1.1

/** A part that only programs read. */
type Json = Readonly<Record<string, unknown>>;

export interface SchemaObject {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly SchemaObject[];
  readonly items?: SchemaObject;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaObject;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly description?: string;
  readonly examples?: readonly unknown[];
}

/** Schemas with a name of their own, by which others refer to them. */
export type NamedSchemas = Record<string, SchemaObject>;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: SchemaObject;
}

export interface MediaObject {
  readonly schema: SchemaObject;
  readonly example?: unknown;
  /** By error code. */
  readonly examples?: Readonly<
    Record<string, { readonly summary: string; readonly value: unknown }>
  >;
}

export interface JsonContent {
  readonly 'application/json': MediaObject;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: unknown;
  /** One media type. */
  readonly content?: Readonly<Record<string, MediaObject>>;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description?: string;
  /** Each entry is one scope whose keys may call it; none for an operation without a key. */
  readonly security?: readonly { readonly key: readonly string[] }[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: JsonContent };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

/** Operations by path and method in small letters. */
export type Paths = Record<string, Readonly<Record<string, OperationObject>>>;

export interface OpenapiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string } & Json;
  readonly servers: readonly Json[];
  readonly security: readonly Json[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Paths;
  /** Requests that paygate sends. */
  readonly webhooks: Paths;
  readonly components: { readonly schemas: NamedSchemas; readonly securitySchemes: Json };
}

/** The name of the schema that a schema refers to. */
export const referenceOf = ({ $ref }: SchemaObject): string | undefined => $ref?.split('/').at(-1);
