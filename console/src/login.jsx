import { useRef, useState } from "preact/hooks";
import { signIn } from "./api.js";
import { Title } from "./parts.jsx";
import { ThemeButton } from "./theme.jsx";

export function Login({ why, enter }) {
  const field = useRef(null);
  const [problem, setProblem] = useState(why);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      enter(await signIn(field.current.value.trim()));
    } catch (error) {
      setProblem(error.status === undefined ? "The broker does not answer. Try again." : error.message);
      setBusy(false);
      field.current.focus();
    }
  };
  return (
    <main class="login">
      <form onSubmit={submit}>
        <img src="icon.svg" alt="" width="56" height="56" />
        <Title text="Sign in">Heliostat</Title>
        <label for="token">Token</label>
        <input
          id="token"
          ref={field}
          type="password"
          autoComplete="off"
          spellcheck={false}
          required
          placeholder="hel_…"
          aria-describedby="token-help"
          aria-invalid={problem ? "true" : undefined}
        />
        <p id="token-help">
          An administrator issues tokens with <code>helio token add</code>. This tab keeps the token until it closes.
        </p>
        <p class="notice" role="alert" hidden={!problem}>
          {problem}
        </p>
        <button type="submit" class="strong" disabled={busy}>
          {busy ? "Signing in …" : "Sign in"}
        </button>
      </form>
      <ThemeButton />
    </main>
  );
}
