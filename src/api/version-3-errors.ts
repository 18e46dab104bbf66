// What is wrong with a request below /api/v3: each field by its path, and a remedy. The texts of
// older routes stay as they are, because shop plugins match them.

import * as z from 'zod';
import { BodyProblems } from '../domain/order/body-fields.ts';
import { editDistance } from '../domain/text/edit-distance.ts';
import { throwInvalid } from '../lib/errors.ts';

/** @param path below `/api` */
export const isVersion3 = (path: string): boolean => path.startsWith('/v3/');

type Issue = Parameters<z.core.$ZodErrorMap>[0];

const expected: Readonly<Record<string, string>> = {
  string: 'text is expected',
  number: 'a number is expected',
  int: 'a whole number is expected',
  boolean: 'true or false is expected',
  array: 'a list is expected',
};

/** The text of a problem that its schema has no text for. */
function problemOf(issue: Issue): string {
  if (issue.code === 'invalid_type') return expected[issue.expected] ?? 'an object is expected';
  if (issue.code !== 'invalid_value') return 'is not valid';
  return `one of ${issue.values.join(', ')} is expected`;
}

/** A body of the operation, for the documentation. */
interface Example {
  readonly example?: unknown;
}

/** Reads the parts of a request, and throws what is wrong in all of them at once. */
export function createPartReader(operation: Example) {
  const problems: [path: string, problem: string][] = [];
  return {
    part(schema: z.ZodObject | undefined, given: unknown): unknown {
      const { data, error } = (schema ?? z.object({})).safeParse(given, { error: problemOf });
      for (const { path, message } of error?.issues ?? []) {
        if (path.length === 0) throwInvalid(`The body must be ${objectOf(operation)}`);
        const isMissing = path.length === 1 && !Object.hasOwn(given as object, path[0] as string);
        problems.push([path.join('.'), isMissing ? 'is missing' : message]);
      }
      return data;
    },
    /** @throws BodyProblems */
    end(): void {
      if (problems.length > 0) throw new BodyProblems(problems);
    },
  };
}

const objectOf = ({ example }: Example): string =>
  `a JSON object${example === undefined ? '' : `, such as ${JSON.stringify(example)}`}`;

/** What follows `The body is not JSON`. A form is what most HTTP clients send by default. */
export function jsonAdvice(operation: Example, text: string): string {
  const isForm = /^(?:--|[\w.%+[\]-]+=)/.test(text);
  return `${isForm ? ', it is a form' : ''}; send ${objectOf(operation)}`;
}

/** Letters of a path that may be wrong. */
const maxEdits = 2;

/**
 * What follows `There is nothing at this path`, for a path that is meant to be one of version 3.
 * @param operations with paths below `/api`
 * @param asked the path of the request
 */
export function pathAdvice(
  operations: readonly { readonly path: string }[],
  asked: string,
): string {
  const [, version, rest = ''] = /^(?:\/api)?\/(v3\/)?(.*?)\/*$/.exec(asked) ?? [];
  const isMeant = version !== undefined;
  const paths = operations.map(({ path }) => path).filter(isVersion3);
  // No two of these paths are near to each other.
  const found = paths.find(
    (path) => editsTo(path.replace('/v3/', ''), rest) <= (isMeant ? maxEdits : 0),
  );
  if (found !== undefined) return `; did you mean /api${found}?`;
  return isMeant ? '; /docs has all paths' : '';
}

/** How many letters differ. A parameter of the template fits any text. */
function editsTo(template: string, asked: string): number {
  const [own, other] = [template.split('/'), asked.split('/')];
  if (own.length !== other.length) return Number.POSITIVE_INFINITY;
  const edits = own.map((part, at) => {
    const text = other[at] ?? '';
    if (part.startsWith('{')) return 0;
    // Strangers send paths of 8 KiB.
    return text.length > part.length + maxEdits ? text.length : editDistance(part, text);
  });
  return edits.reduce((sum, each) => sum + each, 0);
}

/** The message of a 401: without a key, or with one that is none. */
export const loginAdvice = (hasKey: boolean): string =>
  hasKey
    ? 'This API key is unknown, or it has ended: take a valid one from the dashboard, or make one ' +
      'with `paygate key add`'
    : 'This request has no API key: send the header "Authorization: Bearer KEY"';
