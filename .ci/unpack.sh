# Read by .ci/arm64 and .ci/windows, which set $place.

# unpack ARCHITECTURE PACKAGE...: the packages and all that they need, in $place.
# apt works on lists of its own, from the sources of this machine.
unpack() {
  local architecture=$1 state=$place/apt-$1
  shift
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
  : > "$state/status"
  local apt=(apt-get -qq -y
    -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture"
    -o "Dir::State=$state" -o "Dir::State::Lists=$state/lists"
    -o "Dir::State::Status=$state/status" -o "Dir::Cache=$state/cache"
    -o "APT::Sandbox::User=" -o "Debug::NoLocking=1")
  "${apt[@]}" update || return 1
  "${apt[@]}" --no-install-recommends --download-only install "$@" || return 1
  mkdir -p "$place/$architecture"
  local package
  for package in "$state"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$place/$architecture" || return 1
  done
}
