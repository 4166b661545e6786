#!/bin/busybox sh
# The first process of the Soft-RoCE guest: makes the host's root usable, sets up rxe0, runs the command, reports.
#
# The host hands over:
#   virtio-serial ports 1, 2, 3       the command's standard output, its standard error, and reports to the runner
#   fw_cfg opt/effect-rdma/command    a shell script that ends in the command
#   fw_cfg opt/effect-rdma/out        the folder that is shared read-write, if there is one
#   fw_cfg opt/effect-rdma/host       1 or 2, if there are two hosts, and then a network device
#   9p tags hostroot and out          the host's root (read-only) and that folder
# Reports are lines: "ready", "exit STATUS", "failed REASON". There are no other ways to end.

/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev

report() { echo "$*" >&9; }
give_up() { report "failed $*"; poweroff -f; }

# The report port has to work before anything can be reported; until then the kernel console is all there is.
for file in $(cat /modules/first); do insmod "/modules/$file"; done
for port in 1 2 3; do
  # The file is there a little before it can be opened, and a failing exec would end this shell.
  until [ -c /dev/vport0p$port ] && (: >/dev/vport0p$port) 2>/dev/null; do usleep 10000; done
done
exec 9>/dev/vport0p3

for file in $(cat /modules/then); do
  insmod "/modules/$file" 2>/error || give_up "the kernel module ${file%.ko} could not be loaded: $(cat /error)"
done

# Writes go to memory. loose caching is right: nobody changes the host's files under a run that matters.
root=/newroot
mkdir -p /lower /upper $root
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=1048576 hostroot /lower 2>/error ||
  give_up "the root of the host could not be mounted: $(cat /error)"
mount -t tmpfs tmpfs /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay $root 2>/error ||
  give_up "the overlay could not be mounted: $(cat /error)"

mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2; do
  ln -sf "${link#*:}" "/dev/${link%%:*}"
done
for folder in dev dev/pts dev/shm proc sys; do mount -o bind /$folder $root/$folder; done
mount -t tmpfs -o mode=755 tmpfs $root/run

given=/sys/firmware/qemu_fw_cfg/by_name/opt/effect-rdma
cat $given/command/raw >$root/run/command
if [ -e $given/out ]; then
  out=$(cat $given/out/raw)
  mkdir -p "$root$out"
  mount -t 9p -o trans=virtio,version=9p2000.L,cache=mmap,msize=1048576 out "$root$out" 2>/error ||
    give_up "the folder $out could not be shared: $(cat /error)"
fi

# One RoCE device: alone on a veth pair, of two hosts on their network. GID 0 is the link-local one, GID 1 is that of the
# address, ::ffff:10.0.0.1 or ::ffff:10.0.0.2 (RoCE v2).
inside() { chroot $root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" 2>/error; }
setup() { inside "$@" || give_up "rxe could not be set up: $* says: $(cat /error)"; }
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
setup ip link set lo up
if [ -e $given/host ]; then
  host=$(cat $given/host/raw)
  hostname host-$host
  printf '10.0.0.1 host-1\n10.0.0.2 host-2\n' >>$root/etc/hosts
  device=eth0
else
  host=1
  hostname softroce
  device=veth0
  setup ip link add veth0 type veth peer name veth1
  setup ip link set veth1 up
fi
setup ip addr add 10.0.0.$host/24 dev $device
setup ip link set $device up
setup rdma link add rxe0 type rxe netdev $device
port=/sys/class/infiniband/rxe0/ports/1
tries=0
until grep -q ACTIVE $port/state && grep -q 0a00:000$host $port/gids/1; do
  tries=$((tries + 1))
  [ $tries -lt 500 ] || give_up "rxe could not be set up: port $(cat $port/state), GID 1 $(cat $port/gids/1)"
  usleep 10000
done 2>/dev/null

# A port takes one opener, so the command gets pipes: it and its children may open /dev/stdout again.
report ready
mkfifo /stdout /stderr
cat /stdout >/dev/vport0p1 &
first=$!
cat /stderr >/dev/vport0p2 &
second=$!
chroot $root /usr/bin/env -i /bin/sh /run/command </dev/null >/stdout 2>/stderr
status=$?

# Processes that the command left behind may hold the pipes open; they do not get to hold up the run.
(sleep 2; kill $first $second) 2>/dev/null &
wait $first $second
[ -z "$out" ] || umount "$root$out" 2>/dev/null || sync
report "exit $status"
poweroff -f
