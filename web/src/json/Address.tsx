/** An address that is gone to only when somebody does, in a tab that knows nothing of this one. */
export function Address({ to }: { to: string }) {
  return (
    <a href={to} target="_blank" rel="noreferrer noopener">
      {to}
    </a>
  );
}
