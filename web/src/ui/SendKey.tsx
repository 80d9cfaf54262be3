/** Which key sends what is in the form, for those who have a keyboard. */
export function SendKey() {
  const command = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
  return (
    <span className="send-key soft">
      <kbd>{command}+Enter</kbd> sends
    </span>
  );
}
