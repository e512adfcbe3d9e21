//! What a power loss leaves of a disk: all that was synced, and of the rest nothing, or some of it, by sectors.
//!
//! The changes come from the journal of `disk/disk.c`. A file's content is safe once the file was synced, its name once its
//! folder was. The index of a log, which is shared memory, is never on the disk.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    os::unix::{ffi::OsStringExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use rand::{RngExt, rngs::ChaCha8Rng};

use super::Failure;

const SECTOR: usize = 512;

/// A folder on a disk, as it is and as it would be without power.
#[derive(Clone, Debug, Default)]
pub struct Disk(BTreeMap<PathBuf, File>);

/// What of that which was not synced is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unsynced {
    /// Nothing.
    Lost,
    /// Each change with some chance.
    SomeKept,
    /// Each sector of each write with some chance.
    Torn,
}

#[derive(Clone, Debug, Default)]
struct File {
    synced: Vec<u8>,
    since: Vec<Change>,
    name: Name,
}

#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
enum Name {
    #[default]
    New,
    Safe,
    Gone,
    RenamedFrom(PathBuf),
}

impl Disk {
    /// Reads a folder, all of which is safe.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let mut disk = Self::default();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let file = File {
                synced: fs::read(&path)?,
                since: Vec::new(),
                name: Name::Safe,
            };
            disk.0.insert(path, file);
        }
        Ok(disk)
    }

    /// Goes through a journal; returns how many changes and syncs there were.
    pub fn replay(&mut self, journal: &Path) -> Result<usize, Failure> {
        let mut journal = io::BufReader::new(fs::File::open(journal)?);
        let mut count = 0;
        while let Some([operation, path_length, offset, length]) = head(&mut journal)? {
            let path = bytes(&mut journal, path_length)?;
            let path = PathBuf::from(std::ffi::OsString::from_vec(path));
            let offset = usize::try_from(offset)?;
            count += 1;
            match operation {
                1 => drop(self.0.insert(path, File::default())),
                2 => {
                    let bytes = bytes(&mut journal, length)?;
                    self.change(path, Change::Write { at: offset, bytes });
                }
                3 => self.change(path, Change::Truncate(offset)),
                4 => self.sync(&path),
                5 => {
                    let to = bytes(&mut journal, length)?;
                    let to = PathBuf::from(std::ffi::OsString::from_vec(to));
                    let mut file = self.0.remove(&path).unwrap_or_default();
                    if file.name == Name::Safe {
                        file.name = Name::RenamedFrom(path);
                    }
                    self.0.insert(to, file);
                }
                6 => self.0.entry(path).or_default().name = Name::Gone,
                other => return Err(format!("no operation has the number {other}").into()),
            }
        }
        Ok(count)
    }

    fn change(&mut self, path: PathBuf, change: Change) {
        self.0.entry(path).or_default().since.push(change);
    }

    fn sync(&mut self, path: &Path) {
        if let Some(file) = self.0.get_mut(path) {
            for change in std::mem::take(&mut file.since) {
                apply(&mut file.synced, change);
            }
            return;
        }
        self.0
            .retain(|file, held| file.parent() != Some(path) || held.name != Name::Gone);
        for (file, held) in &mut self.0 {
            if file.parent() == Some(path) {
                held.name = Name::Safe;
            }
        }
    }

    /// Makes the folder that a power loss would leave, in place of what is there.
    pub fn lay(
        &self,
        folder: &Path,
        unsynced: Unsynced,
        chance: &mut ChaCha8Rng,
    ) -> Result<(), Failure> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::DirBuilder::new().create(folder)?;
        let kept = chance.random_range(0.1..0.9);
        let is_kept =
            |chance: &mut ChaCha8Rng| unsynced != Unsynced::Lost && chance.random_bool(kept);
        for (path, file) in &self.0 {
            if path.parent() != Some(folder) || path.to_string_lossy().ends_with("-shm") {
                continue;
            }
            let path = match &file.name {
                Name::New | Name::RenamedFrom(_) if is_kept(chance) => path,
                Name::New => continue,
                Name::Gone if is_kept(chance) => continue,
                Name::Safe | Name::Gone => path,
                Name::RenamedFrom(before) => before,
            };
            let mut content = file.synced.clone();
            for change in &file.since {
                match change {
                    Change::Write { at, bytes } if unsynced == Unsynced::Torn => {
                        for (number, sector) in bytes.chunks(SECTOR).enumerate() {
                            if is_kept(chance) {
                                write_at(&mut content, at + number * SECTOR, sector);
                            }
                        }
                    }
                    change if is_kept(chance) => apply(&mut content, change.clone()),
                    _ => {}
                }
            }
            let mut options = fs::OpenOptions::new();
            let mut made = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?;
            io::Write::write_all(&mut made, &content)?;
        }
        Ok(())
    }
}

fn apply(content: &mut Vec<u8>, change: Change) {
    match change {
        Change::Write { at, bytes } => write_at(content, at, &bytes),
        Change::Truncate(length) => content.resize(length, 0),
    }
}

fn write_at(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}

/// The numbers before a record; nothing at the end of the journal.
fn head(journal: &mut impl Read) -> Result<Option<[u64; 4]>, Failure> {
    let mut head = [0; 32];
    match journal.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut numbers = [0; 4];
    for (number, bytes) in numbers.iter_mut().zip(head.chunks_exact(8)) {
        *number = u64::from_ne_bytes(bytes.try_into()?);
    }
    Ok(Some(numbers))
}

fn bytes(journal: &mut impl Read, length: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; usize::try_from(length)?];
    journal.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rand::SeedableRng;

    use super::*;

    fn journal(folder: &Path, records: &[(u64, &Path, u64, &[u8])]) -> PathBuf {
        let path = folder.join("journal");
        let mut file = fs::File::create(&path).unwrap();
        for (operation, path, offset, data) in records {
            let path = path.to_str().unwrap().as_bytes();
            for number in [*operation, path.len() as u64, *offset, data.len() as u64] {
                file.write_all(&number.to_ne_bytes()).unwrap();
            }
            file.write_all(path).unwrap();
            file.write_all(data).unwrap();
        }
        path
    }

    fn left(records: &[(u64, &str, u64, &[u8])]) -> BTreeMap<String, Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let records: Vec<_> = records
            .iter()
            .map(|(operation, name, offset, bytes)| {
                let path = if name.is_empty() {
                    data.clone()
                } else {
                    data.join(name)
                };
                (*operation, path, *offset, *bytes)
            })
            .collect();
        let borrowed: Vec<_> = records
            .iter()
            .map(|(operation, path, offset, bytes)| (*operation, &**path, *offset, *bytes))
            .collect();
        let mut disk = Disk::default();
        disk.replay(&journal(folder.path(), &borrowed)).unwrap();
        let mut chance = ChaCha8Rng::seed_from_u64(1);
        disk.lay(&data, Unsynced::Lost, &mut chance).unwrap();
        let entries = fs::read_dir(&data).unwrap().map(Result::unwrap);
        entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read(entry.path()).unwrap())
            })
            .collect()
    }

    #[test]
    fn what_was_synced_is_left_with_its_name_once_the_folder_was_synced() {
        let written: [(u64, &str, u64, &[u8]); 4] = [
            (1, "a", 0, b""),
            (2, "a", 0, b"kept"),
            (4, "a", 0, b""),
            (2, "a", 2, b"lost"),
        ];

        assert!(left(&written).is_empty(), "its name is not safe");

        let named = [&written[..], &[(4, "", 0, b"" as &[u8])]].concat();
        assert_eq!(left(&named)["a"], b"kept");
    }

    #[test]
    fn a_file_that_was_removed_is_back_until_its_folder_is_synced() {
        let written: [(u64, &str, u64, &[u8]); 5] = [
            (1, "a", 0, b""),
            (2, "a", 0, b"kept"),
            (4, "a", 0, b""),
            (4, "", 0, b""),
            (6, "a", 0, b""),
        ];

        assert_eq!(left(&written)["a"], b"kept");
        let synced = [&written[..], &[(4, "", 0, b"" as &[u8])]].concat();
        assert!(left(&synced).is_empty());
    }
}
