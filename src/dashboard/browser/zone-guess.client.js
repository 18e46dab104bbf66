// Names the time zone of this browser in each form that signs in.

for (const field of document.querySelectorAll('input[name=zone]')) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
}
