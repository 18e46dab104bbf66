// The one question before a grave action: what will happen, the password if it is due, and a way
// back.

import type { Child } from 'hono/jsx';
import type { PageRequest } from '../page.ts';
import { Form } from './form-parts.tsx';

interface ConfirmationProps {
  readonly request: PageRequest;
  readonly action: string;
  readonly button: string;
  /** What will happen, a sentence each. */
  readonly consequences: readonly Child[];
  readonly cancel: string;
  /** The action takes nothing away, so the button has no warning colour. */
  readonly isHarmless?: boolean;
  readonly children?: Child;
}

export const Confirmation = (props: ConfirmationProps) => {
  const { request, action, button, consequences, cancel, isHarmless, children } = props;
  return (
    <>
      <p>What will happen:</p>
      <ul>
        {consequences.map((each) => (
          <li>{each}</li>
        ))}
      </ul>
      <Form
        request={request}
        action={action}
        button={button}
        isDangerous={isHarmless !== true}
        needsPassword
      >
        {children}
      </Form>
      <p>
        <a href={cancel}>Cancel</a>
      </p>
    </>
  );
};
